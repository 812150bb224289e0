import LFSWire

extension Outbox {
    /// A row of the server that came while a change of it waited here.
    enum Came {
        case row(SyncRow)
        case deletion

        /// - Parameter text: as ``note(_:_:_:_:)`` keeps it.
        init(_ text: String) throws {
            if text.isEmpty {
                self = .deletion
                return
            }
            self = .row(
                try Array(text.utf8).withUnsafeBytes { bytes in
                    var scanner = JSONScanner(bytes)
                    return try SyncRow(&scanner)
                })
        }
    }
}

import LFSWire

extension Outbox {
    /// An incoming change of a row that arrived while a local change of it was pending.
    enum IncomingChange {
        case row(SyncRow)
        case deletion

        /// - Parameter text: the text that ``note(_:_:_:_:)`` stored.
        init(_ text: String) throws {
            if text.isEmpty {
                self = .deletion
                return
            }
            self = .row(try StoredJSON.read(text, of: "lfs_sync_outbox") { try SyncRow(&$0) })
        }
    }
}

/// What a device had of a row when it changed it: how far its type had come in a scope that gives the row, or that it
/// changed the row itself just before.
package struct SyncSeen: Hashable, Sendable {
    /// nil for the account's own.
    package var scope: SyncScope?
    /// ``SyncPosition/start`` when it had nothing of the type in that scope.
    package var position: SyncPosition
    /// The number of a change of the same row by the same device that has not come back to it yet.
    package var after: Int64?

    package init(scope: SyncScope? = nil, position: SyncPosition, after: Int64? = nil) {
        (self.scope, self.position, self.after) = (scope, position, after)
    }

    /// As members of a mutation: `,"base":"0197…","scope":"album/0197…","after":16`.
    func write(to bytes: inout [UInt8]) {
        bytes.append(contentsOf: ",\"base\":\"\(position)\"".utf8)
        if let scope { bytes.append(contentsOf: ",\"scope\":\"\(scope)\"".utf8) }
        if let after { bytes.append(contentsOf: ",\"after\":\(after)".utf8) }
    }

    /// What a line has of it so far.
    struct Members {
        private var scope: SyncScope?
        private var position: SyncPosition?
        private var after: Int64?
        private var isEmpty = true

        /// - Returns: false for a member that is none of these.
        mutating func read(_ name: String, _ scanner: inout JSONScanner) throws -> Bool {
            switch name {
            case "base":
                position = SyncPosition(try scanner.text())
                guard position != nil else { throw Self.failure }
            case "scope":
                scope = SyncScope(try scanner.text())
                guard scope != nil else { throw Self.failure }
            case "after": after = try scanner.wholeNumber()
            default: return false
            }
            isEmpty = false
            return true
        }

        /// - Throws: ``WireFailure/Code/invalidRequest`` where they do not go together.
        func checked(before sequence: Int64) throws(WireFailure) -> SyncSeen? {
            if isEmpty { return nil }
            guard let position, after.map({ (1..<sequence).contains($0) }) ?? true else { throw Self.failure }
            return SyncSeen(scope: scope, position: position, after: after)
        }

        private static let failure = WireFailure(
            .invalidRequest,
            "'base' of a mutation is a position, 'scope' the one that it is of, and 'after' an earlier 'seq'.")
    }
}

/// The base version of a row when a device changed it. It is the position that its type had reached in a scope with the
/// row, or the device's own previous change of the row.
package struct BaseVersion: Hashable, Sendable {
    /// The scope, or nil for the account's own scope.
    package var scope: SyncScope?
    /// The position, or ``SyncPosition/start`` if the device had nothing of the type in that scope.
    package var position: SyncPosition
    /// The number of an earlier change of the same row by the same device, if that change has not come back yet.
    package var after: Int64?

    package init(scope: SyncScope? = nil, position: SyncPosition, after: Int64? = nil) {
        self.scope = scope
        self.position = position
        self.after = after
    }

    /// Writes the members of a mutation: `,"base":"0197…","scope":"album/0197…","after":16`.
    func write(to bytes: inout [UInt8]) {
        bytes.append(contentsOf: ",\"base\":\"\(position)\"".utf8)
        if let scope { bytes.append(contentsOf: ",\"scope\":\"\(scope)\"".utf8) }
        if let after { bytes.append(contentsOf: ",\"after\":\(after)".utf8) }
    }

    /// The members that were read from a line so far.
    struct Members {
        private var scope: SyncScope?
        private var position: SyncPosition?
        private var after: Int64?
        private var isEmpty = true

        /// Reads a member of the base version.
        ///
        /// - Returns: false for a member that is not part of the base version.
        mutating func read(_ name: String, scanner: inout JSONScanner) throws -> Bool {
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

        /// Checks the members.
        ///
        /// - Throws: ``WireFailure/Code/invalidRequest`` if they are inconsistent.
        func checked(before sequence: Int64) throws(WireFailure) -> BaseVersion? {
            if isEmpty { return nil }
            guard let position, after.map({ (1..<sequence).contains($0) }) ?? true else { throw Self.failure }
            return BaseVersion(scope: scope, position: position, after: after)
        }

        private static let failure = WireFailure(
            .invalidRequest,
            message: """
                'base' of a mutation has to be a position, 'scope' the scope of that position, and 'after' an earlier \
                'seq'.
                """)
    }
}

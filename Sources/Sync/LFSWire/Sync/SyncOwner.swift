/// The owner of the rows on a device, as the first line in a body of mutations: `{"account":"account/0196…"}`. The
/// server refuses a session of another account. This keeps changes of one user from reaching another user who has
/// signed in on the same device.
package enum SyncOwner {
    /// Returns the owner as a line without its line ending.
    package static func line(_ own: SyncScope) -> String { "{\"account\":\"\(own)\"}" }

    /// Reads the owner from a line.
    ///
    /// - Returns: nil if the line contains something else.
    /// - Throws: ``WireFailure/Code/invalidRequest``.
    package static func read(_ bytes: UnsafeRawBufferPointer) throws -> SyncScope? {
        var text: String?
        var others = 0
        var scanner = JSONScanner(bytes)
        try scanner.object { scanner, name in
            if name == "account", text == nil {
                text = try scanner.text()
            } else {
                try scanner.skip()
                others += 1
            }
        }
        guard others == 0, let text else { return nil }
        return try SyncScope.account(in: text)
    }
}

extension SyncScope {
    static let expected = "the scope of an account's own rows"

    /// Reads the scope of an account.
    ///
    /// - Throws: ``WireFailure/Code/invalidRequest`` for a text that is not the scope of an account.
    static func account(in text: String?) throws(WireFailure) -> SyncScope? {
        guard let text else { return nil }
        guard let scope = SyncScope(text), scope.kind == accountKind else {
            throw WireFailure(.invalidRequest, message: "'account' has to be \(expected).")
        }
        return scope
    }
}

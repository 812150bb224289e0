/// Whose rows a device has, as the first line of a body of mutations: `{"account":"account/0196…"}`. A session of
/// another account is refused, so that nobody's changes come to somebody else who has signed in on the same device.
package enum SyncOwner {
    /// As a line, without its end.
    package static func line(_ own: SyncScope) -> String { "{\"account\":\"\(own)\"}" }

    /// - Returns: nil for a line that says something else.
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

    /// - Throws: ``WireFailure/Code/invalidRequest`` for a text that is no scope of an account.
    static func account(in text: String?) throws(WireFailure) -> SyncScope? {
        guard let text else { return nil }
        guard let scope = SyncScope(text), scope.kind == accountKind else {
            throw WireFailure(.invalidRequest, "'account' has to be \(expected).")
        }
        return scope
    }
}

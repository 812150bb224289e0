/// The body of `POST …/v1/sync/account`, which asks for an account by its name.
package struct SyncAccountRequest: Hashable, Sendable, Codable {
    /// The name of the account for users.
    package let name: String

    package init(name: String) { self.name = name }

    private enum Keys: String, CodingKey { case name }

    package init(from decoder: any Decoder) throws {
        let fields = try CheckedFields(decoder, keys: Keys.self)
        name = try fields.required(.name, as: String.self, rule: "a name of 1 to 128 bytes") {
            (1...128).contains($0.utf8.count) && !$0.utf8.contains(0)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(name, forKey: .name)
    }
}

/// The reply to a ``SyncAccountRequest``: the account's id, or null if no account has that name.
package struct SyncAccountReply: Hashable, Sendable, Codable {
    package let id: String?

    package init(id: String?) { self.id = id }
}

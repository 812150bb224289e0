import Foundation

/// The body of `POST …/v1/sync/stream`, which requests a stream.
package struct SyncStreamRequest: Hashable, Sendable, Codable {
    /// The protocol version of the lines and messages.
    package static let version = 1
    /// The maximum number of types, more than any app has.
    package static let typeLimit = 500

    /// The versions of each type that the device accepts, in the order of preference.
    package var types: [[SyncType]]
    package var acks: SyncAckBatch?
    /// True if the device wants to receive everything again.
    package var resets: Bool
    /// True if the stream stays open and sends later commits as well.
    package var isLive: Bool
    /// The account that owns the rows on the device, or nil before the device knows it. The server refuses a session of
    /// another account.
    package var account: SyncScope?
    /// True if the device has no rows, so that the server can leave out earlier deletions.
    package var isEmpty = false

    package init(types: [[SyncType]], acks: SyncAckBatch? = nil, resets: Bool = false, isLive: Bool = false) {
        self.types = types
        self.acks = acks
        self.resets = resets
        self.isLive = isLive
    }

    private enum Keys: String, CodingKey { case version = "protocol", types, acks, reset, live, empty, account }

    package init(from decoder: any Decoder) throws {
        let fields = try CheckedFields(decoder, keys: Keys.self)
        _ = try fields.required(.version, as: Int.self, rule: "\(Self.version)") { $0 == Self.version }
        let texts = try fields.required(.types, as: [String].self, rule: "a list of one type or more") {
            (1...Self.typeLimit).contains($0.count)
        }
        types = try texts.map { text throws(WireFailure) in
            let found = text.split(separator: "|", omittingEmptySubsequences: false).map { SyncType($0) }
            guard !found.contains(nil), Set(found.map { $0?.name }).count == 1 else {
                throw WireFailure(
                    .invalidRequest, message: "'types' has an invalid type. Write RecipeV1, or RecipeV2|RecipeV1.")
            }
            return found.compactMap(\.self)
        }
        acks = try fields.optional(.acks, rule: "a batch of acks")
        resets = try fields.optional(.reset, rule: "true or false") ?? false
        isLive = try fields.optional(.live, rule: "true or false") ?? false
        isEmpty = try fields.optional(.empty, rule: "true or false") ?? false
        account = try SyncScope.account(in: try fields.optional(.account, rule: SyncScope.expected))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(Self.version, forKey: .version)
        try container.encode(types.map { $0.map(\.description).joined(separator: "|") }, forKey: .types)
        try container.encodeIfPresent(acks, forKey: .acks)
        if resets { try container.encode(true, forKey: .reset) }
        if isLive { try container.encode(true, forKey: .live) }
        if isEmpty { try container.encode(true, forKey: .empty) }
        try container.encodeIfPresent(account?.description, forKey: .account)
    }
}

/// The body of `POST …/v1/sync/ack`, which reports what a device has received.
package struct SyncAckBatch: Hashable, Sendable, Codable {
    package static let limit = 1_000

    /// The number of the previous batch plus one, or 0 without a previous batch. It reveals an older copy of either
    /// database.
    package var number: Int64
    /// The identity that the device has chosen. The same batch may be sent more than once.
    package var id: String
    package var tokens: [SyncToken]
    /// The identity of the previous batch, which the server has received. Nil for the first batch, and from a device
    /// that does not send it.
    package var after: String?
    /// The account that owns the rows on the device, or nil before the device knows it. The server refuses a session of
    /// another account.
    package var account: SyncScope?
    /// The identity of the server's history at the last complete stream. Nil before the device knows it, and from a
    /// device that does not send it.
    package var history: String?
    /// The last position of the account's own rows that the device has. Nil for none, and from a device that does not
    /// send it.
    package var reached: SyncPosition?

    package init(
        number: Int64, id: String, tokens: [SyncToken], after: String? = nil, account: SyncScope? = nil,
        history: String? = nil, reached: SyncPosition? = nil
    ) {
        self.reached = reached
        self.after = after
        self.number = number
        self.id = id
        self.tokens = tokens
        self.account = account
        self.history = history
    }

    /// Returns true for the identity of a batch or of a history.
    package static func isID(_ text: String) -> Bool { !text.isEmpty && WireFormat.isPlain(text, limit: 64) }

    private enum Keys: String, CodingKey { case batch, id, acks, after, account, history, reached }

    package init(from decoder: any Decoder) throws {
        let fields = try CheckedFields(decoder, keys: Keys.self)
        guard let number = try fields.number(.batch, from: 0) else {
            throw WireFailure(.invalidRequest, message: "'batch' is missing: a number of at least 0.")
        }
        self.number = number
        let rule = "1 to 64 visible ASCII characters"
        id = try fields.required(.id, rule: rule) { Self.isID($0) }
        let texts = try fields.required(.acks, as: [String].self, rule: "a list of at most \(Self.limit) tokens") {
            $0.count <= Self.limit
        }
        tokens = try texts.map { text throws(WireFailure) in
            guard let token = SyncToken(text) else {
                throw WireFailure(.invalidRequest, message: "'acks' has an entry that is not a token of a line.")
            }
            return token
        }
        after = try fields.optional(.after, rule: rule) { Self.isID($0) }
        history = try fields.optional(.history, rule: rule) { Self.isID($0) }
        reached = try fields.optional(.reached, as: String.self, rule: "a position") { SyncPosition($0) != nil }
            .flatMap { SyncPosition($0) }
        account = try SyncScope.account(in: try fields.optional(.account, rule: SyncScope.expected))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(number, forKey: .batch)
        try container.encode(id, forKey: .id)
        try container.encode(tokens.map(\.description), forKey: .acks)
        try container.encodeIfPresent(after, forKey: .after)
        try container.encodeIfPresent(account?.description, forKey: .account)
        try container.encodeIfPresent(history, forKey: .history)
        try container.encodeIfPresent(reached?.text, forKey: .reached)
    }
}

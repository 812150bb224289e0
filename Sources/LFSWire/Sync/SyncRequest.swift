import Foundation

/// Asks for a stream: the body of `POST …/v1/sync/stream`.
package struct SyncStreamRequest: Hashable, Sendable, Codable {
    /// Of the lines and messages as a whole.
    package static let version = 1
    /// More types than any app has.
    package static let typeLimit = 500

    /// What the device takes of each table: the versions that it knows, the best first.
    package var types: [[SyncType]]
    package var acks: SyncAckBatch?
    /// Whether the device wants everything anew.
    package var resets: Bool
    /// Whether the stream stays open, and what commits follows.
    package var isLive: Bool
    /// Whose rows the device has; nil before it knows. A session of another account is refused.
    package var account: SyncScope?
    /// Whether the device has no row at all, so that it needs to hear of no deletion from before.
    package var isEmpty = false

    package init(types: [[SyncType]], acks: SyncAckBatch? = nil, resets: Bool = false, isLive: Bool = false) {
        (self.types, self.acks, self.resets, self.isLive) = (types, acks, resets, isLive)
    }

    private enum Keys: String, CodingKey { case version = "protocol", types, acks, reset, live, empty, account }

    package init(from decoder: any Decoder) throws {
        let fields = try CheckedFields(decoder, Keys.self)
        _ = try fields.required(.version, as: Int.self, "\(Self.version)") { $0 == Self.version }
        let texts = try fields.required(.types, as: [String].self, "a list of one type or more") {
            (1...Self.typeLimit).contains($0.count)
        }
        types = try texts.map { text throws(WireFailure) in
            let found = text.split(separator: "|", omittingEmptySubsequences: false).map { SyncType($0) }
            guard !found.contains(nil), Set(found.map { $0?.name }).count == 1 else {
                throw WireFailure(
                    .invalidRequest, "'types' has one that is none: write RecipeV1, or RecipeV2|RecipeV1.")
            }
            return found.compactMap(\.self)
        }
        acks = try fields.optional(.acks, "a batch of acks")
        resets = try fields.optional(.reset, "true or false") ?? false
        isLive = try fields.optional(.live, "true or false") ?? false
        isEmpty = try fields.optional(.empty, "true or false") ?? false
        account = try SyncScope.account(in: try fields.optional(.account, SyncScope.expected))
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

/// What a device has: the body of `POST …/v1/sync/ack`.
package struct SyncAckBatch: Hashable, Sendable, Codable {
    package static let limit = 1_000

    /// One more than that of the batch before, so that an older copy of either database shows; 0 when there was none.
    package var number: Int64
    /// Chosen by the device: the same batch may come again.
    package var id: String
    package var tokens: [SyncToken]
    /// Whose rows the device has; nil before it knows. A session of another account is refused.
    package var account: SyncScope?

    package init(number: Int64, id: String, tokens: [SyncToken], account: SyncScope? = nil) {
        (self.number, self.id, self.tokens, self.account) = (number, id, tokens, account)
    }

    private enum Keys: String, CodingKey { case batch, id, acks, account }

    package init(from decoder: any Decoder) throws {
        let fields = try CheckedFields(decoder, Keys.self)
        guard let number = try fields.number(.batch, from: 0) else {
            throw WireFailure(.invalidRequest, "'batch' is missing: a number from 0 on.")
        }
        self.number = number
        id = try fields.required(.id, "1 to 64 visible ASCII characters") {
            !$0.isEmpty && WireFormat.isPlain($0, limit: 64)
        }
        let texts = try fields.required(.acks, as: [String].self, "a list of at most \(Self.limit) tokens") {
            $0.count <= Self.limit
        }
        tokens = try texts.map { text throws(WireFailure) in
            guard let token = SyncToken(text) else {
                throw WireFailure(.invalidRequest, "'acks' has one that is no token of a line.")
            }
            return token
        }
        account = try SyncScope.account(in: try fields.optional(.account, SyncScope.expected))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(number, forKey: .batch)
        try container.encode(id, forKey: .id)
        try container.encode(tokens.map(\.description), forKey: .acks)
        try container.encodeIfPresent(account?.description, forKey: .account)
    }
}

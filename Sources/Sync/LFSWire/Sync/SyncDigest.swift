/// A digest of the rows of a type in a scope: their number, and the sum modulo 2^64 of a number for each key. It is a
/// line of the reply to `POST …/v1/sync/digest`.
package struct SyncDigest: Hashable, Sendable {
    package private(set) var type: SyncType
    /// The scope, or nil for the account's own scope.
    package let scope: SyncScope?
    package private(set) var count = 0
    private var sum: UInt64 = 0

    package init(type: SyncType, scope: SyncScope?) {
        self.type = type
        self.scope = scope
    }

    /// Adds a key.
    ///
    /// - Parameter number: the first eight bytes of the key's SHA-256, the most significant first.
    package mutating func add(_ number: UInt64) {
        count += 1
        sum &+= number
    }

    /// Returns the same digest for another version of the type.
    package func renamed(to type: SyncType) -> SyncDigest {
        var digest = self
        digest.type = type
        return digest
    }

    /// The sum as sixteen hexadecimal digits.
    package var hash: String {
        let digits = String(sum, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// The digest as a line with its line ending.
    package var line: String {
        let scope = scope.map { ",\"scope\":\"\($0)\"" } ?? ""
        return "{\"type\":\"\(type)\"\(scope),\"count\":\(count),\"hash\":\"\(hash)\"}\n"
    }
}

extension SyncDigest: Decodable {
    private enum Keys: String, CodingKey { case type, scope, count, hash }

    package init(from decoder: any Decoder) throws {
        let fields = try CheckedFields(decoder, keys: Keys.self)
        let texts = (
            type: try fields.required(.type, as: String.self, rule: "a type") { SyncType($0) != nil },
            scope: try fields.optional(.scope, as: String.self, rule: SyncScope.expected) { SyncScope($0) != nil },
            hash: try fields.required(.hash, as: String.self, rule: "16 hexadecimal digits") {
                WireFormat.isHex($0, byteCount: 8)
            }
        )
        guard let type = SyncType(texts.type), let sum = UInt64(texts.hash, radix: 16),
            let count = try fields.number(.count)
        else { throw WireFailure(.invalidRequest, message: "A digest has no 'count'.") }
        self.type = type
        scope = texts.scope.flatMap { SyncScope($0) }
        self.count = Int(count)
        self.sum = sum
    }
}

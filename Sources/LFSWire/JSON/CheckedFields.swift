/// Reads members of an object and holds each to its rule. `null` counts as left out.
struct CheckedFields<Key: CodingKey> {
    private let container: KeyedDecodingContainer<Key>

    init(_ decoder: any Decoder, _ keys: Key.Type) throws {
        container = try decoder.container(keyedBy: keys)
    }

    func optional<Value: Decodable>(
        _ key: Key, as type: Value.Type = Value.self, _ rule: String, _ isRight: (Value) -> Bool = { _ in true }
    ) throws(WireFailure) -> Value? {
        do {
            guard let value = try container.decodeIfPresent(type, forKey: key) else { return nil }
            if isRight(value) { return value }
        } catch let failure as WireFailure {
            throw failure
        } catch {
            // Of another type: the same rule is broken.
        }
        throw WireFailure(.invalidRequest, "'\(key.stringValue)' has to be \(rule).")
    }

    func required<Value: Decodable>(
        _ key: Key, as type: Value.Type = Value.self, _ rule: String, _ isRight: (Value) -> Bool = { _ in true }
    ) throws(WireFailure) -> Value {
        guard let value = try optional(key, as: type, rule, isRight) else {
            throw WireFailure(.invalidRequest, "'\(key.stringValue)' is missing: \(rule).")
        }
        return value
    }

    func hex(_ key: Key, byteCount: Int) throws(WireFailure) -> String? {
        try optional(key, "\(2 * byteCount) lowercase hex digits") { WireFormat.isHex($0, byteCount: byteCount) }
    }

    func number(_ key: Key, from least: Int64 = 0) throws(WireFailure) -> Int64? {
        try optional(key, "a whole number from \(least) to \(WireFormat.largestNumber)") {
            (least...WireFormat.largestNumber).contains($0)
        }
    }

    func token(_ key: Key) throws(WireFailure) -> String? {
        try optional(key, "an upload token as the server gave it", WireFormat.isToken)
    }

    func plain(_ key: Key, limit: Int) throws(WireFailure) -> String? {
        try optional(key, "at most \(limit) visible ASCII characters") { WireFormat.isPlain($0, limit: limit) }
    }
}

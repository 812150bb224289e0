/// A reader of an object's members that checks each against its rule. It treats `null` like a missing member.
struct CheckedFields<Key: CodingKey> {
    private let container: KeyedDecodingContainer<Key>

    init(_ decoder: any Decoder, keys: Key.Type) throws {
        container = try decoder.container(keyedBy: keys)
    }

    func optional<Value: Decodable>(
        _ key: Key, as type: Value.Type = Value.self, rule: String, _ isRight: (Value) -> Bool = { _ in true }
    ) throws(WireFailure) -> Value? {
        do {
            guard let value = try container.decodeIfPresent(type, forKey: key) else { return nil }
            if isRight(value) { return value }
        } catch let failure as WireFailure {
            throw failure
        } catch {
            // The value has another type, which breaks the same rule.
        }
        throw WireFailure(.invalidRequest, message: "'\(key.stringValue)' has to be \(rule).")
    }

    func required<Value: Decodable>(
        _ key: Key, as type: Value.Type = Value.self, rule: String, _ isRight: (Value) -> Bool = { _ in true }
    ) throws(WireFailure) -> Value {
        guard let value = try optional(key, as: type, rule: rule, isRight) else {
            throw WireFailure(.invalidRequest, message: "'\(key.stringValue)' is missing: \(rule).")
        }
        return value
    }

    func hex(_ key: Key, byteCount: Int) throws(WireFailure) -> String? {
        try optional(key, rule: "\(2 * byteCount) lowercase hex digits") { WireFormat.isHex($0, byteCount: byteCount) }
    }

    func number(_ key: Key, from least: Int64 = 0) throws(WireFailure) -> Int64? {
        try optional(key, rule: "a whole number from \(least) to \(WireFormat.largestNumber)") {
            (least...WireFormat.largestNumber).contains($0)
        }
    }

    func token(_ key: Key) throws(WireFailure) -> String? {
        try optional(key, rule: "an upload token as the server issued it", WireFormat.isToken)
    }

    func plain(_ key: Key, limit: Int) throws(WireFailure) -> String? {
        try optional(key, rule: "at most \(limit) visible ASCII characters") { WireFormat.isPlain($0, limit: limit) }
    }
}

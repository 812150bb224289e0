/// The body of `DELETE …/v1/sync/ack`, with the types that a device wants to receive from the first row on.
package struct SyncForgetRequest: Hashable, Sendable, Codable {
    package let types: [SyncType]

    package init(types: [SyncType]) { self.types = types }

    private enum Keys: String, CodingKey { case types }

    package init(from decoder: any Decoder) throws {
        let fields = try CheckedFields(decoder, keys: Keys.self)
        let texts = try fields.required(.types, as: [String].self, rule: "a list of one type or more") {
            (1...SyncStreamRequest.typeLimit).contains($0.count)
        }
        types = try texts.map { text throws(WireFailure) in
            guard let type = SyncType(text) else {
                throw WireFailure(.invalidRequest, message: "'types' has an invalid type. Write RecipeV1.")
            }
            return type
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(types.map(\.description), forKey: .types)
    }
}

/// A request to the server for one operation on some objects. The reply has an answer for each of them in the same
/// order.
package struct SigningRequest: Codable, Sendable {
    package var operation: SigningOperation
    package var objects: [Checked<SigningObject>]

    package init(_ operation: SigningOperation, objects: [SigningObject]) {
        self.operation = operation
        self.objects = objects.map(Checked.valid)
    }

    private enum Keys: String, CodingKey { case version, operation, objects }

    package init(from decoder: any Decoder) throws {
        let fields = try CheckedFields(decoder, keys: Keys.self)
        _ = try fields.required(.version, as: Int.self, rule: "\(SigningDescription.version)") {
            $0 == SigningDescription.version
        }
        operation = try fields.required(
            .operation, rule: "one of \(SigningOperation.allCases.map(\.rawValue).joined(separator: ", "))")
        objects = try fields.required(.objects, rule: "a list of one object or more") { !$0.isEmpty }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(SigningDescription.version, forKey: .version)
        try container.encode(operation, forKey: .operation)
        try container.encode(objects, forKey: .objects)
    }
}

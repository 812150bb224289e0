/// A request to the server: one operation on some objects. Its reply answers them in the same order.
package struct SigningRequest: Codable, Sendable {
    package var operation: SigningOperation
    package var objects: [Checked<SigningObject>]

    package init(_ operation: SigningOperation, _ objects: [SigningObject]) {
        self.operation = operation
        self.objects = objects.map(Checked.valid)
    }

    private enum Keys: String, CodingKey { case version, operation, objects }

    package init(from decoder: any Decoder) throws {
        let fields = try CheckedFields(decoder, Keys.self)
        _ = try fields.required(.version, as: Int.self, "\(SigningDescription.version)") {
            $0 == SigningDescription.version
        }
        operation = try fields.required(
            .operation, "one of \(SigningOperation.allCases.map(\.rawValue).joined(separator: ", "))")
        objects = try fields.required(.objects, "a list of one object or more") { !$0.isEmpty }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(SigningDescription.version, forKey: .version)
        try container.encode(operation, forKey: .operation)
        try container.encode(objects, forKey: .objects)
    }
}

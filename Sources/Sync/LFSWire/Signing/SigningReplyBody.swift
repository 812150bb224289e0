/// The server's reply to a ``SigningRequest``, with an answer for each object in the same order.
package struct SigningReplyBody: Codable, Sendable {
    package var objects: [Checked<SigningAnswer>]

    package init(_ objects: [SigningAnswer]) { self.objects = objects.map(Checked.valid) }

    private enum Keys: String, CodingKey { case version, objects }

    package init(from decoder: any Decoder) throws {
        let fields = try CheckedFields(decoder, keys: Keys.self)
        _ = try fields.required(.version, as: Int.self, rule: "\(SigningDescription.version)") {
            $0 == SigningDescription.version
        }
        objects = try fields.required(.objects, rule: "a list of answers")
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(SigningDescription.version, forKey: .version)
        try container.encode(objects, forKey: .objects)
    }
}

/// The body of a reply that refuses a whole request: `{"version": 1, "error": {…}}`.
package struct SigningRefusal: Codable, Sendable {
    package var error: WireFailure

    package init(_ error: WireFailure) { self.error = error }

    private enum Keys: String, CodingKey { case version, error }

    package init(from decoder: any Decoder) throws {
        error = try CheckedFields(decoder, keys: Keys.self).required(.error, rule: "an error")
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(SigningDescription.version, forKey: .version)
        try container.encode(error, forKey: .error)
    }
}

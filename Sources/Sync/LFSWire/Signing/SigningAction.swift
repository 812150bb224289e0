/// A signed request that its holder can send to the store without credentials, once or until it expires. Keep it
/// secret.
package struct SigningAction: Codable, Hashable, Sendable {
    /// A field in the store's reply that proves what the store has received.
    package struct Proof: Codable, Hashable, Sendable {
        /// The name of the field.
        package var header: String
        /// The value of the field, without surrounding quotation marks.
        package var value: String

        package init(header: String, value: String) {
            self.header = header
            self.value = value
        }

        /// Returns true if the field in the reply has the expected value.
        package func isMet(by reply: String?) -> Bool {
            guard var text = reply?[...] else { return false }
            if text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") { text = text.dropFirst().dropLast() }
            return text == value
        }

        package init(from decoder: any Decoder) throws {
            let fields = try CheckedFields(decoder, keys: CodingKeys.self)
            header = try fields.required(.header, rule: "the name of a header field", WireFormat.isFieldName)
            value = try fields.required(.value, rule: "1 to 1024 visible ASCII characters") {
                !$0.isEmpty && WireFormat.isPlain($0, limit: 1_024)
            }
        }
    }

    /// `GET` or `PUT`.
    package var method: String
    package var href: String
    /// The fields that the request must carry with exactly these values.
    package var header: [String: String]
    /// The lifetime in seconds, starting with the reply.
    package var expiresIn: Int64
    /// The expected field of the store's reply. Nil if only ``SigningOperation/confirm`` can prove the upload.
    package var proof: Proof?

    package init(
        method: String, href: String, header: [String: String] = [:], expiresIn: Int64, proof: Proof? = nil
    ) {
        self.method = method
        self.href = href
        self.header = header
        self.expiresIn = expiresIn
        self.proof = proof
    }

    private enum CodingKeys: String, CodingKey {
        case method, href, header, proof
        case expiresIn = "expires_in"
    }

    package init(from decoder: any Decoder) throws {
        let fields = try CheckedFields(decoder, keys: CodingKeys.self)
        method = try fields.required(.method, rule: "GET or PUT") { ["GET", "PUT"].contains($0) }
        href = try fields.required(.href, rule: "an http or https URL", WireFormat.isActionURL)
        header =
            try fields.optional(.header, rule: "at most 64 header fields of visible ASCII") {
                (header: [String: String]) in
                header.count <= 64
                    && header.allSatisfy { WireFormat.isFieldName($0) && WireFormat.isPlain($1, limit: 8_192) }
            } ?? [:]
        expiresIn = try fields.required(.expiresIn, rule: "1 to 604800 seconds") { (1...604_800).contains($0) }
        proof = try fields.optional(.proof, rule: "a header field and its value")
    }
}

extension SigningAction: CustomStringConvertible, CustomReflectable {
    /// The method and the URL without the signature.
    package var description: String { "\(method) \(href.prefix { $0 != "?" })" }
    /// A mirror without the query and the fields, which are secret.
    package var customMirror: Mirror { Mirror(self, children: ["action": description]) }
}

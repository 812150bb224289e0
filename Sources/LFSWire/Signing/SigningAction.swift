/// A request that whoever has it may send to the store once, or until it expires. It is a secret until then.
package struct SigningAction: Codable, Hashable, Sendable {
    /// A field of the store's reply that shows what the store took.
    package struct Proof: Codable, Hashable, Sendable {
        /// The name of the field.
        package var header: String
        /// Its value, without quotation marks around it.
        package var value: String

        package init(header: String, value: String) {
            self.header = header
            self.value = value
        }

        /// Whether the value of the reply's field is the one that has to come.
        package func isMet(by reply: String?) -> Bool {
            guard var text = reply?[...] else { return false }
            if text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") { text = text.dropFirst().dropLast() }
            return text == value
        }

        package init(from decoder: any Decoder) throws {
            let fields = try CheckedFields(decoder, CodingKeys.self)
            header = try fields.required(.header, "the name of a header field", WireFormat.isFieldName)
            value = try fields.required(.value, "1 to 1024 visible ASCII characters") {
                !$0.isEmpty && WireFormat.isPlain($0, limit: 1_024)
            }
        }
    }

    /// `GET` or `PUT`.
    package var method: String
    package var href: String
    /// Fields that the request must carry with exactly these values.
    package var header: [String: String]
    /// Seconds from the reply on.
    package var expiresIn: Int64
    /// nil when only ``SigningOperation/confirm`` can tell.
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
        let fields = try CheckedFields(decoder, CodingKeys.self)
        method = try fields.required(.method, "GET or PUT") { ["GET", "PUT"].contains($0) }
        href = try fields.required(.href, "an http or https URL", WireFormat.isActionURL)
        header =
            try fields.optional(.header, "at most 64 header fields of visible ASCII") { (header: [String: String]) in
                header.count <= 64
                    && header.allSatisfy { WireFormat.isFieldName($0) && WireFormat.isPlain($1, limit: 8_192) }
            } ?? [:]
        expiresIn = try fields.required(.expiresIn, "1 to 604800 seconds") { (1...604_800).contains($0) }
        proof = try fields.optional(.proof, "a header field and its value")
    }
}

extension SigningAction: CustomStringConvertible, CustomReflectable {
    /// Where it leads, without what makes it valid.
    package var description: String { "\(method) \(href.prefix { $0 != "?" })" }
    /// Nothing shows the query or the fields.
    package var customMirror: Mirror { Mirror(self, children: ["action": description]) }
}

/// A request that a client without credentials may send. It is a secret until it expires.
package struct PresignedRequest: Sendable {
    /// A reply field that confirms the stored bytes, with its expected value without quotation marks.
    package struct Proof: Sendable {
        package let header: String
        package let value: String

        package init(header: String, value: String) {
            self.header = header
            self.value = value
        }
    }

    package let url: String
    /// The fields that the request must carry with these values.
    package let headers: [String: String]
    /// nil if the reply has no checksum of the bytes, or if the request is not bound to certain bytes.
    package let proof: Proof?
    /// The time during which the request is valid.
    package let lifetime: Duration

    package init(url: String, headers: [String: String], proof: Proof?, lifetime: Duration) {
        self.url = url
        self.headers = headers
        self.proof = proof
        self.lifetime = lifetime
    }
}

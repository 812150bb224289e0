/// A request that somebody without credentials may send. It is a secret until it has expired.
package struct PresignedRequest: Sendable {
    /// A field of the reply that shows what the server took, and its value without quotation marks.
    package struct Proof: Sendable {
        package let header: String
        package let value: String

        package init(header: String, value: String) {
            self.header = header
            self.value = value
        }
    }

    package let url: String
    /// Fields that it must carry with these values.
    package let headers: [String: String]
    /// nil when the reply says nothing of the bytes, or when nothing binds them.
    package let proof: Proof?
    /// How long it may be sent.
    package let lifetime: Duration

    package init(url: String, headers: [String: String], proof: Proof?, lifetime: Duration) {
        self.url = url
        self.headers = headers
        self.proof = proof
        self.lifetime = lifetime
    }
}

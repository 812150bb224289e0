/// What is known of a range of the local bytes before it goes out.
package struct PayloadDigest: Hashable, Sendable {
    /// In hex.
    package let sha256: String
    /// In hex; nil when nobody asked for it.
    package let md5: String?

    package init(sha256: String, md5: String?) {
        self.sha256 = sha256
        self.md5 = md5
    }
}

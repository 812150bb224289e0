/// The size and digests of an object or a part, as announced by another party.
package struct DeclaredContent: Hashable, Sendable {
    package let byteCount: Int64
    /// The SHA-256, as 64 lowercase hex digits.
    package let sha256: String
    /// The MD5, as 32 lowercase hex digits.
    package let md5: String?
    package let contentType: String?

    package init(byteCount: Int64, sha256: String, md5: String? = nil, contentType: String? = nil) {
        self.byteCount = byteCount
        self.sha256 = sha256
        self.md5 = md5
        self.contentType = contentType
    }
}

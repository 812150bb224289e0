/// An object, or a part of one, as somebody else announces it.
package struct AnnouncedBytes: Hashable, Sendable {
    package let byteCount: Int64
    /// 64 lowercase hex digits.
    package let sha256: String
    /// 32 lowercase hex digits.
    package let md5: String?
    package let contentType: String?

    package init(byteCount: Int64, sha256: String, md5: String? = nil, contentType: String? = nil) {
        self.byteCount = byteCount
        self.sha256 = sha256
        self.md5 = md5
        self.contentType = contentType
    }
}

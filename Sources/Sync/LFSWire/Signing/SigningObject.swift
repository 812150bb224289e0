/// An object of a request. The protocol page lists the members that each operation needs.
package struct SigningObject: Codable, Hashable, Sendable {
    /// The object's key: `<namespace>/<name>`.
    package var key: String?
    /// The size in bytes of the object or of the part.
    package var size: Int64?
    /// The SHA-256 of the object or of the part, as 64 lowercase hex digits.
    package var sha256: String?
    /// The MD5 of the same bytes, as 32 lowercase hex digits.
    package var md5: String?
    /// The media type of the object.
    package var type: String?
    /// True if an existing object with the same key may be replaced.
    package var replace: Bool?
    /// The token of an upload in parts.
    package var upload: String?
    /// The number of a part, starting at 1.
    package var number: Int64?
    /// The SHA-256 over the parts' SHA-256s in their order, each as 32 bytes.
    package var partsSHA256: String?
    /// The MD5 over the parts' MD5s in their order, each as 16 bytes.
    package var partsMD5: String?
    /// The prefix of the keys in a listing.
    package var prefix: String?
    /// The position where a listing continues.
    package var continuation: String?
    /// The maximum number of objects in a page of a listing.
    package var limit: Int64?

    package init(key: String? = nil, size: Int64? = nil, sha256: String? = nil, md5: String? = nil) {
        self.key = key
        self.size = size
        self.sha256 = sha256
        self.md5 = md5
    }

    private enum CodingKeys: String, CodingKey {
        case key, size, sha256, md5, type, replace, upload, number, prefix, continuation, limit
        case partsSHA256 = "parts_sha256"
        case partsMD5 = "parts_md5"
    }

    package init(from decoder: any Decoder) throws {
        let fields = try CheckedFields(decoder, keys: CodingKeys.self)
        key = try fields.plain(.key, limit: 512)
        size = try fields.number(.size)
        sha256 = try fields.hex(.sha256, byteCount: 32)
        md5 = try fields.hex(.md5, byteCount: 16)
        type = try fields.plain(.type, limit: 255)
        replace = try fields.optional(.replace, rule: "true or false")
        upload = try fields.token(.upload)
        number = try fields.number(.number, from: 1)
        partsSHA256 = try fields.hex(.partsSHA256, byteCount: 32)
        partsMD5 = try fields.hex(.partsMD5, byteCount: 16)
        prefix = try fields.plain(.prefix, limit: 512)
        continuation = try fields.plain(.continuation, limit: 4_096)
        limit = try fields.number(.limit, from: 1)
    }

    /// Returns a member that the operation needs.
    ///
    /// - Throws: ``WireFailure/Code/invalidRequest`` if the member is missing.
    package func required<Value>(_ member: KeyPath<Self, Value?>, name: String) throws(WireFailure) -> Value {
        guard let value = self[keyPath: member] else {
            throw WireFailure(.invalidRequest, message: "'\(name)' is missing, and this operation needs it.")
        }
        return value
    }
}

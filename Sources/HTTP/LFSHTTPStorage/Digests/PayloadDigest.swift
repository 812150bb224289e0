/// The digests of a range of local bytes, computed before it is sent. They are in hex, and nil if not requested.
package struct PayloadDigest: Hashable, Sendable {
    /// The kinds of digests to compute.
    package struct Kinds: OptionSet, Hashable, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) {
            self.rawValue = rawValue
        }

        package static let sha256 = Kinds(rawValue: 1)
        package static let md5 = Kinds(rawValue: 2)
        /// CRC-64/NVME.
        package static let crc64 = Kinds(rawValue: 4)
    }

    package let sha256: String?
    package let md5: String?
    /// CRC-64/NVME.
    package let crc64: String?

    package init(sha256: String? = nil, md5: String? = nil, crc64: String? = nil) {
        self.sha256 = sha256
        self.md5 = md5
        self.crc64 = crc64
    }
}

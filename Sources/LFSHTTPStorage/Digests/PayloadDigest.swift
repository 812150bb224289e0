/// What is known of a range of the local bytes before it goes out. In hex, and nil where nobody asked for it.
package struct PayloadDigest: Hashable, Sendable {
    /// Which digests are wanted.
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

import LFSHTTPStorage
import LFSSystem

/// Evidence from the server about the bytes of an object: a checksum or an entity tag ("Checking object integrity" and
/// "Object" in the Amazon S3 documentation).
enum ServerChecksum: Hashable, Sendable {
    case sha256(hex: String)
    /// The SHA-256 of the parts' SHA-256s. Some servers omit the number of parts.
    case sha256OfParts(hex: String, count: Int?)
    case check(CyclicRedundancyCheck.Algorithm, hex: String)
    /// An entity tag that looks like an MD5.
    case md5(hex: String)
    /// An entity tag that looks like the MD5 of the parts' MD5s.
    case md5OfParts(hex: String, count: Int)

    static let checksumFields: [(String, CyclicRedundancyCheck.Algorithm)] = [
        ("x-amz-checksum-crc64nvme", .crc64NVME), ("x-amz-checksum-crc32", .crc32),
    ]

    /// - Parameters:
    ///   - text: the value of the field in base64. For multipart objects, often `-` and the number of parts follow.
    ///   - partCount: the number of parts in the entity tag.
    static func sha256(_ text: String, isComposite: Bool, partCount: Int?) -> ServerChecksum? {
        if let hex = Base64.hex(text) {
            return isComposite ? .sha256OfParts(hex: hex, count: partCount) : .sha256(hex: hex)
        }
        let halves = text.split(separator: "-")
        guard halves.count == 2, let count = Int(halves[1]), let hex = Base64.hex(String(halves[0])) else { return nil }
        return .sha256OfParts(hex: hex, count: count)
    }

    /// True if the value depends on the division into parts.
    var isOfParts: Bool {
        switch self {
        case .sha256OfParts, .md5OfParts: true
        case .sha256, .check, .md5: false
        }
    }
}

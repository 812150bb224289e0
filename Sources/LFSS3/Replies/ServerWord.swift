import LFSHTTPStorage
import LFSSystem

/// Something that only the bytes of an object can have made the server say ("Checking object integrity" and "Object" in
/// the Amazon S3 documentation).
enum ServerWord: Hashable, Sendable {
    case sha256(hex: String)
    /// SHA-256 over the parts' SHA-256s. Some servers leave the number of parts out.
    case sha256OfParts(hex: String, count: Int?)
    case check(CyclicRedundancyCheck.Algorithm, hex: String)
    /// An entity tag that looks like it.
    case md5(hex: String)
    /// An entity tag that looks like the MD5 over the parts' MD5s.
    case md5OfParts(hex: String, count: Int)

    static let checksumFields: [(String, CyclicRedundancyCheck.Algorithm)] = [
        ("x-amz-checksum-crc64nvme", .crc64NVME), ("x-amz-checksum-crc32", .crc32),
    ]

    /// - Parameters:
    ///   - text: the field's: base64, and for an object in parts often `-` with their number.
    ///   - partCount: the number of parts by the entity tag.
    static func sha256(_ text: String, isComposite: Bool, partCount: Int?) -> ServerWord? {
        if let hex = Base64.hex(text) {
            return isComposite ? .sha256OfParts(hex: hex, count: partCount) : .sha256(hex: hex)
        }
        let halves = text.split(separator: "-")
        guard halves.count == 2, let count = Int(halves[1]), let hex = Base64.hex(String(halves[0])) else { return nil }
        return .sha256OfParts(hex: hex, count: count)
    }

    /// Whether it depends on how the object was cut into parts.
    var isOfParts: Bool {
        switch self {
        case .sha256OfParts, .md5OfParts: true
        case .sha256, .check, .md5: false
        }
    }
}

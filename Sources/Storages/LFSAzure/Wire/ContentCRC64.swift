import Foundation
import LFSHTTPStorage
import LFSSystem

/// The checksum that the service compares: the bytes of the CRC-64/NVME in little-endian order, in base64. (S3 uses
/// big-endian order.)
struct ContentCRC64: Hashable, Sendable {
    static let field = "x-ms-content-crc64"

    /// The value of the field.
    let text: String

    /// - Parameter hex: the CRC in hex. The result is nil for anything but 16 digits.
    init?(hex: String?) {
        guard let bytes = hex.flatMap(Hex.bytes), bytes.count == 8 else { return nil }
        text = Data(bytes.reversed()).base64EncodedString()
    }

    /// Computes the checksum of bytes in memory.
    init(of bytes: [UInt8]) {
        var check = CyclicRedundancyCheck(.crc64NVME)
        bytes.withUnsafeBytes { check.update($0) }
        text = Data((Hex.bytes(check.hex) ?? []).reversed()).base64EncodedString()
    }
}

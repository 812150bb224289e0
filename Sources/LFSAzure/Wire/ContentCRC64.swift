import Foundation
import LFSHTTPStorage
import LFSSystem

/// The checksum that the service compares: CRC-64/NVME, its bytes from the last to the first, in base64. (S3 has them
/// from the first to the last.)
struct ContentCRC64: Hashable, Sendable {
    static let field = "x-ms-content-crc64"

    /// As the field has it.
    let text: String

    /// - Parameter hex: the number as it is written; nil for anything but 16 digits.
    init?(hex: String?) {
        guard let bytes = hex.flatMap(Hex.bytes), bytes.count == 8 else { return nil }
        text = Data(bytes.reversed()).base64EncodedString()
    }

    /// Of bytes in memory.
    init(of bytes: [UInt8]) {
        var check = CyclicRedundancyCheck(.crc64NVME)
        bytes.withUnsafeBytes { check.update($0) }
        text = Data((Hex.bytes(check.hex) ?? []).reversed()).base64EncodedString()
    }
}

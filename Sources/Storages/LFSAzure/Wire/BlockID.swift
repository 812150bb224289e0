import Foundation
import LFSHTTPStorage

/// The name of a block in base64: 28 bytes of its SHA-256 and 4 bytes of its number.
///
/// All names have the same length, as the service requires. The name contains the content's hash. So the service's list
/// shows which local bytes it has, and two attempts never mix their blocks.
struct BlockID: Hashable, Sendable {
    let text: String

    /// - Parameters:
    ///   - sha256: the SHA-256 of the block in hex. The result is nil for anything else.
    ///   - number: the number of the block, starting at 1.
    init?(sha256: String?, number: Int) {
        guard let digest = sha256.flatMap(Hex.bytes), digest.count == 32, let number = UInt32(exactly: number) else {
            return nil
        }
        let place = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
        text = Data(digest.prefix(28) + place).base64EncodedString()
    }
}

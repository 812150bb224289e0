import Foundation
import LFSHTTPStorage

/// The name of a block in base64: 28 bytes of its SHA-256, and 2 bytes each of the numbers of its series and of itself.
///
/// All names have the same length, as the service requires. The name contains the content's hash. So the service's list
/// shows which local bytes it has, and two attempts never mix their blocks. A new series has other names for the same
/// content.
struct BlockID: Hashable, Sendable {
    let text: String

    /// - Parameters:
    ///   - sha256: the SHA-256 of the block in hex. The result is nil for anything else.
    ///   - number: the number of the block, starting at 1.
    ///   - series: the number of the series, starting at 0.
    init?(sha256: String?, number: Int, series: UInt16 = 0) {
        guard let digest = sha256.flatMap(Hex.bytes), digest.count == 32, let number = UInt16(exactly: number) else {
            return nil
        }
        let place = [series, number].flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }
        text = Data(digest.prefix(28) + place).base64EncodedString()
    }
}

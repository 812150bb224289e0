import Foundation
import LFSHTTPStorage

/// The name of a block: 28 bytes of its SHA-256 and 4 of its place, in base64.
///
/// All have one length, as the service demands. The content is in the name, so that the service's list of blocks alone
/// tells what is there of the local bytes, and no two tries ever mix theirs.
struct BlockID: Hashable, Sendable {
    let text: String

    /// - Parameters:
    ///   - sha256: of the block, in hex; nil for anything else.
    ///   - number: from 1 on.
    init?(sha256: String?, number: Int) {
        guard let digest = sha256.flatMap(Hex.bytes), digest.count == 32, let number = UInt32(exactly: number) else {
            return nil
        }
        let place = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
        text = Data(digest.prefix(28) + place).base64EncodedString()
    }
}

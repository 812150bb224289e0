import Foundation
import LFSHTTPStorage

/// The name of a block that another client sends, in base64: 16 bytes of the block's MD5, 12 bytes of the object's
/// SHA-256, and 4 bytes of its number.
///
/// MD5 is the only digest that a signature can cover and that the service compares. So the service's list of blocks
/// shows what the blocks contain. Blocks of two contents never mix. The length is that of a ``BlockID``.
struct SignedBlockID: Hashable, Sendable {
    /// The MD5 in hex.
    let md5: String
    let number: Int
    private let object: Data

    /// - Parameter sha256: the SHA-256 of the object in hex.
    /// - Returns: nil for invalid digests.
    init?(md5: String?, number: Int, of sha256: String) {
        guard let md5, Hex.bytes(md5)?.count == 16, let object = Hex.bytes(sha256), object.count == 32,
            UInt32(exactly: number) != nil
        else { return nil }
        self.md5 = md5
        self.number = number
        self.object = Data(object.prefix(12))
    }

    /// Parses a listed name. Returns nil if the block does not belong to this object.
    init?(listed text: String, of sha256: String) {
        guard let bytes = Data(base64Encoded: text), bytes.count == 32, let object = Hex.bytes(sha256),
            object.count == 32, bytes[16..<28].elementsEqual(object.prefix(12))
        else { return nil }
        md5 = Hex.text(bytes.prefix(16))
        number = bytes.suffix(4).reduce(0) { $0 << 8 | Int($1) }
        self.object = Data(object.prefix(12))
    }

    var text: String {
        let place = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
        return (Data(Hex.bytes(md5) ?? []) + object + place).base64EncodedString()
    }
}

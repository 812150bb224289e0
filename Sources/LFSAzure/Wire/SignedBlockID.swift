import Foundation
import LFSHTTPStorage

/// The name of a block that somebody else sends: 16 bytes with the block's MD5, 12 of the object's SHA-256, 4 with
/// its number, in base64.
///
/// The service compares a block with its MD5 and with no other digest that a signature can bind, so that its list of
/// blocks says what they hold. Blocks of two contents never mix. The length is that of a ``BlockID``.
struct SignedBlockID: Hashable, Sendable {
    /// In hex.
    let md5: String
    let number: Int
    private let object: Data

    /// - Parameter sha256: of the object, in hex.
    /// - Returns: nil for digests that are none.
    init?(md5: String?, number: Int, of sha256: String) {
        guard let md5, Hex.bytes(md5)?.count == 16, let object = Hex.bytes(sha256), object.count == 32,
            UInt32(exactly: number) != nil
        else { return nil }
        (self.md5, self.number, self.object) = (md5, number, Data(object.prefix(12)))
    }

    /// What a listed name says; nil when it is no block of this object.
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

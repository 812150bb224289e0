import Crypto
package import Foundation

/// A SHA-256 (FIPS 180-4) that is computed piece by piece, and the number of bytes it covers.
package struct ContentHash {
    package private(set) var byteCount: Int64 = 0
    private var function = SHA256()

    package init() {}

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        function.update(bufferPointer: bytes)
        byteCount += Int64(bytes.count)
    }

    /// The digest of all bytes so far, as 64 lowercase hex digits.
    package var hex: String { Self.hex(of: function.finalize()) }

    /// Returns two lowercase hex digits for each byte.
    package static func hex(of bytes: some ContiguousBytes) -> String {
        bytes.withUnsafeBytes { bytes in
            String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
                for (index, byte) in bytes.enumerated() {
                    text[2 * index] = digit(byte >> 4)
                    text[2 * index + 1] = digit(byte & 15)
                }
                return 2 * bytes.count
            }
        }
    }

    /// Returns the lowercase hex digit of a number below 16.
    static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }

    /// Returns the first eight bytes of the digest of a text's UTF-8 as a big-endian number.
    package static func number(ofText text: String) -> UInt64 {
        var function = SHA256()
        var text = text
        text.withUTF8 { function.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        return function.finalize().withUnsafeBytes { UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) }
    }

    /// Returns the digest of a text's UTF-8 in hex.
    package static func hex(ofText text: String) -> String {
        var hash = ContentHash()
        var text = text
        text.withUTF8 { hash.update(UnsafeRawBufferPointer($0)) }
        return hash.hex
    }
}

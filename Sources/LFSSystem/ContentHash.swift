import Crypto

/// SHA-256 (FIPS 180-4) of a content, fed piece by piece, and the number of bytes that went in.
package struct ContentHash {
    package private(set) var byteCount: Int64 = 0
    private var function = SHA256()

    package init() {}

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        function.update(bufferPointer: bytes)
        byteCount += Int64(bytes.count)
    }

    /// The digest of what came so far, as 64 lowercase hex digits.
    package var hex: String { Self.hex(of: function.finalize()) }

    package static func hex(of bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.underestimatedCount)
        for byte in bytes {
            text.append(digit(byte >> 4))
            text.append(digit(byte & 15))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The lowercase hex digit of a number below 16.
    static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }

    /// The digest of a text's UTF-8.
    package static func hex(ofText text: String) -> String {
        var hash = ContentHash()
        var text = text
        text.withUTF8 { hash.update(UnsafeRawBufferPointer($0)) }
        return hash.hex
    }
}

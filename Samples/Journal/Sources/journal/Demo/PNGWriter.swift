import Foundation

/// A writer for PNG files with 8-bit red, green and blue, which writes a row at a time without compression.
///
/// Formats: PNG (https://www.w3.org/TR/png-3/), zlib (RFC 1950) with the stored blocks of DEFLATE (RFC 1951, 3.2.4).
struct PNGWriter: Sendable {
    let width: Int
    let height: Int
    private var adler: (low: UInt32, high: UInt32) = (1, 0)
    private var isFirst = true

    /// - Parameter width: At most 21,844 pixels, so that a row fits into one stored block.
    init(width: Int, height: Int) {
        precondition((1...21_844).contains(width) && height > 0)
        self.width = width
        self.height = height
    }

    /// The first bytes of a PNG file.
    var head: Data {
        let signature: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
        // Eight bits, true color, the only compression and filter method, and no interlace.
        return Data(signature) + Self.chunk("IHDR", content: Self.bytes(width) + Self.bytes(height) + [8, 2, 0, 0, 0])
    }

    /// Returns one row.
    ///
    /// - Parameter pixels: Three bytes for each pixel.
    mutating func row(_ pixels: [UInt8]) -> Data {
        // The filter type of the row: none.
        let row = [0] + pixels
        checksum(row)
        let count = UInt16(row.count)
        let block: [UInt8] = [0, UInt8(count & 0xff), UInt8(count >> 8), UInt8(~count & 0xff), UInt8(~count >> 8)]
        let start: [UInt8] = isFirst ? [0x78, 0x01] : []
        isFirst = false
        return Self.chunk("IDAT", content: start + block + row)
    }

    /// Returns the last bytes of a PNG file, after the last row.
    func end() -> Data {
        let last: [UInt8] = [1, 0, 0, 0xff, 0xff]
        return Self.chunk("IDAT", content: last + Self.bytes(Int(adler.high << 16 | adler.low)))
            + Self.chunk("IEND", content: [])
    }

    /// Adds bytes to the Adler-32 checksum (RFC 1950, section 9).
    private mutating func checksum(_ bytes: [UInt8]) {
        for byte in bytes {
            adler.low = (adler.low + UInt32(byte)) % 65_521
            adler.high = (adler.high + adler.low) % 65_521
        }
    }

    // MARK: Chunks

    private static func chunk(_ type: String, content: [UInt8]) -> Data {
        let body = Array(type.utf8) + content
        return Data(bytes(content.count) + body + bytes(Int(crc(body))))
    }

    private static func bytes(_ number: Int) -> [UInt8] {
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: number).bigEndian, Array.init)
    }

    /// Returns the CRC-32 of the PNG standard (annex D).
    private static func crc(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(UInt32.max) { table[Int(($0 ^ UInt32($1)) & 0xff)] ^ ($0 >> 8) }
    }

    private static let table: [UInt32] = (0..<256).map { number in
        (0..<8).reduce(UInt32(number)) { crc, _ in crc & 1 == 1 ? 0xedb8_8320 ^ (crc >> 1) : crc >> 1 }
    }
}

import CDeflate
import Foundation

extension DemoScene {
    /// Returns the scene as a small PNG file (https://www.w3.org/TR/png-3/).
    ///
    /// - Throws: ``DemoPhoto/Failure`` if zlib fails.
    func png(width: Int = 320, height: Int = 200) throws -> Data {
        let pixels = pixels(width: width, height: height)
        var rows: [UInt8] = []
        for row in 0..<height {
            // The type of the filter: none.
            rows.append(0)
            rows += pixels[row * width * 3..<(row + 1) * width * 3]
        }
        var content = [UInt8](repeating: 0, count: Int(compressBound(UInt(rows.count))))
        var count = UInt(content.count)
        // Without compression, the pictures have the size of small photographs.
        let status = compress2(&content, &count, rows, UInt(rows.count), Z_NO_COMPRESSION)
        guard status == Z_OK else { throw DemoPhoto.Failure(status: status) }
        let signature: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
        // Eight bits, true color, the only compression and filter method, and no interlace.
        let head = Self.bytes(width) + Self.bytes(height) + [8, 2, 0, 0, 0]
        let chunks = [("IHDR", head), ("IDAT", Array(content.prefix(Int(count)))), ("IEND", [])].map(Self.chunk)
        return Data(signature + chunks.joined())
    }

    private static func chunk(_ type: String, content: [UInt8]) -> [UInt8] {
        let body = Array(type.utf8) + content
        return bytes(content.count) + body + bytes(Int(crc32(0, body, UInt32(body.count))))
    }

    private static func bytes(_ number: Int) -> [UInt8] {
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: number).bigEndian, Array.init)
    }
}

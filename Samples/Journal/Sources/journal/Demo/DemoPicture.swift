import CDeflate
import Foundation

/// A generated picture: hills under a sky, as a small PNG.
struct DemoPicture: Sendable {
    let width = 320
    let height = 200
    private let sky: (SIMD3<Double>, SIMD3<Double>)
    private let hills: [Hill]

    private struct Hill {
        let base: Double
        let swing: Double
        let waves: Double
        let phase: Double
        let color: SIMD3<Double>
    }

    init(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        func color(_ range: ClosedRange<Double>) -> SIMD3<Double> {
            SIMD3(
                Double.random(in: range, using: &random), Double.random(in: range, using: &random),
                Double.random(in: range, using: &random))
        }
        sky = (color(0.3...0.9), color(0.6...1))
        hills = (0..<3).map { number in
            Hill(
                base: 0.45 + 0.18 * Double(number), swing: Double.random(in: 0.03...0.12, using: &random),
                waves: Double.random(in: 1...4, using: &random), phase: Double.random(in: 0...6, using: &random),
                color: color(0.1...0.6))
        }
    }

    /// Returns the file (https://www.w3.org/TR/png-3/).
    ///
    /// - Throws: ``DemoPhoto/Failure`` if zlib fails.
    func png() throws -> Data {
        // Each row begins with the type of its filter: none.
        let rows: [UInt8] = pixels().flatMap { [0] + $0 }
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

    /// Returns the rows: red, green and blue of each pixel.
    private func pixels() -> [[UInt8]] {
        // The upper edge of each hill for each column, from 0 at the top to 1.
        let skylines = hills.map { hill in
            (0..<width).map {
                hill.base + hill.swing * sin(Double($0) / Double(width) * hill.waves * 2 * .pi + hill.phase)
            }
        }
        return (0..<height).map { y in
            let depth = Double(y) / Double(height)
            let colors = [sky.0 + (sky.1 - sky.0) * depth] + hills.map { $0.color * (1.3 - 0.5 * depth) }
            let pixels = colors.map { color in
                [color.x, color.y, color.z].map { UInt8(min(255, max(0, $0 * 255))) }
            }
            return (0..<width).flatMap { x in pixels[(skylines.lastIndex { depth > $0[x] } ?? -1) + 1] }
        }
    }

    private static func chunk(_ type: String, content: [UInt8]) -> [UInt8] {
        let body = Array(type.utf8) + content
        return bytes(content.count) + body + bytes(Int(crc32(0, body, UInt32(body.count))))
    }

    private static func bytes(_ number: Int) -> [UInt8] {
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: number).bigEndian, Array.init)
    }
}

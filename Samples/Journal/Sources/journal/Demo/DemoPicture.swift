import Foundation

/// A generated picture: hills under a sky, as a PNG that is written row by row and is never completely in memory.
struct DemoPicture: AsyncSequence, Sendable {
    let width: Int
    let height: Int
    private let sky: (SIMD3<Double>, SIMD3<Double>)
    private let hills: [Hill]

    private struct Hill {
        let base: Double
        let swing: Double
        let waves: Double
        let phase: Double
        let color: SIMD3<Double>
    }

    init(seed: UInt64, width: Int = 320, height: Int = 200) {
        var random = SeededGenerator(seed: seed)
        self.width = width
        self.height = height
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

    /// The upper edge of each hill for each column, from 0 at the top to 1.
    private var skylines: [[Double]] {
        hills.map { hill in
            (0..<width).map {
                hill.base + hill.swing * sin(Double($0) / Double(width) * hill.waves * 2 * .pi + hill.phase)
            }
        }
    }

    /// Returns the bytes of one row: red, green and blue of each pixel.
    private func row(_ y: Int, skylines: [[Double]]) -> [UInt8] {
        let depth = Double(y) / Double(height)
        let colors = [sky.0 + (sky.1 - sky.0) * depth] + hills.map { $0.color * (1.3 - 0.5 * depth) }
        let pixels = colors.map { color in
            [color.x, color.y, color.z].map { UInt8(Swift.min(255, Swift.max(0, $0 * 255))) }
        }
        return (0..<width).flatMap { x in pixels[(skylines.lastIndex { depth > $0[x] } ?? -1) + 1] }
    }

    func makeAsyncIterator() -> Iterator { Iterator(picture: self) }

    struct Iterator: AsyncIteratorProtocol {
        private let picture: DemoPicture
        private var png: PNGWriter
        private let skylines: [[Double]]
        private var y = -1

        init(picture: DemoPicture) {
            self.picture = picture
            skylines = picture.skylines
            png = PNGWriter(width: picture.width, height: picture.height)
        }

        /// Returns the head first, then some rows at a time, then the end.
        mutating func next() async throws -> Data? {
            if y < 0 {
                y = 0
                return png.head
            }
            guard y <= picture.height else { return nil }
            guard y < picture.height else {
                y += 1
                return png.end()
            }
            var rows = Data()
            for _ in 0..<Swift.min(32, picture.height - y) {
                rows += png.row(picture.row(y, skylines: skylines))
                y += 1
            }
            return rows
        }
    }
}

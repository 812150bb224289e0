import Foundation

/// A generated scene that looks like a photograph at a glance: a sky with light and clouds, ranges of hills in haze,
/// and a lake that reflects them.
///
/// The same seed produces the same scene. A scene is drawn small, and ``DemoPhoto`` enlarges it.
struct DemoScene: Sendable {
    /// A sum of waves, each with half the length and height of the one before: an outline of hills, or a cloud.
    private struct Waves: Sendable {
        let parts: [(frequency: Double, phase: Double)]

        init(_ random: inout SeededGenerator) {
            parts = [3.0, 6, 12, 24, 48, 96].map { frequency in
                (
                    frequency: frequency * Double.random(in: 0.8...1.6, using: &random),
                    phase: Double.random(in: 0...6.3, using: &random)
                )
            }
        }

        func height(_ x: Double) -> Double {
            var sum = 0.0
            for part in parts { sum += sin(x * part.frequency + part.phase) / part.frequency }
            return sum * 1.5
        }
    }

    private let high: SIMD3<Double>
    private let low: SIMD3<Double>
    private let land: SIMD3<Double>
    private let horizon: Double
    private let sun: SIMD2<Double>
    private let hills: [Waves]
    private let clouds: Waves
    private let wind: Waves

    init(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let skies: [(high: SIMD3<Double>, low: SIMD3<Double>)] = [
            ([0.22, 0.46, 0.80], [0.78, 0.88, 0.96]), ([0.25, 0.28, 0.52], [0.98, 0.66, 0.42]),
            ([0.55, 0.66, 0.74], [0.86, 0.88, 0.88]), ([0.12, 0.34, 0.66], [0.97, 0.86, 0.70]),
        ]
        let lands: [SIMD3<Double>] = [
            [0.20, 0.33, 0.16], [0.36, 0.30, 0.14], [0.16, 0.27, 0.20], [0.42, 0.36, 0.20],
        ]
        let sky = skies[Int.random(in: 0..<skies.count, using: &random)]
        high = sky.high
        low = sky.low
        land = lands[Int.random(in: 0..<lands.count, using: &random)]
        horizon = Double.random(in: 0.5...0.75, using: &random)
        sun = [Double.random(in: 0.15...0.85, using: &random), Double.random(in: 0.12...0.4, using: &random)]
        hills = (0..<4).map { _ in Waves(&random) }
        clouds = Waves(&random)
        wind = Waves(&random)
    }

    /// Returns the pixels of the scene, three bytes for each.
    ///
    /// - Parameter shift: The movement of the camera to the right, as a part of the width.
    func pixels(width: Int, height: Int, shift: Double = 0) -> [UInt8] {
        var grain = SeededGenerator(seed: 1)
        let aspect = Double(width) / Double(height)
        let columns = (0..<width).map { (Double($0) / Double(width) + shift) * aspect }
        // The upper edges of the ranges of hills, the farthest first.
        let tops = hills.enumerated().map { range, hill in
            columns.map { x in
                horizon - 0.2 + 0.07 * Double(range) + hill.height(x * (1 + 0.4 * Double(range))) * 0.12
            }
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(width * height * 3)
        for row in 0..<height {
            let y = Double(row) / Double(height)
            let depth = max(0, y - horizon)
            for (column, x) in columns.enumerated() {
                // The lake shows what is above it, broken by ripples.
                let ripple = depth > 0 ? wind.height(Double(row * 40) / Double(row + 40) + x) * depth : 0
                let shown = (depth > 0 ? horizon - depth * 1.2 : y) + ripple * 0.15
                let edge = min(max(column + Int(ripple * Double(width) * 0.05), 0), width - 1)
                var color: SIMD3<Double>
                if let range = tops.lastIndex(where: { shown > $0[edge] }) {
                    let haze = 0.75 - 0.2 * Double(range)
                    color = land * (1 - haze) + low * haze
                } else {
                    color = sky(x: x, y: shown)
                }
                if depth > 0 { color *= 0.85 - depth * 0.6 }
                color += (Double(grain.next() & 255) / 255 - 0.5) * 0.05
                for channel in 0..<3 { bytes.append(UInt8(min(max(color[channel], 0), 1) * 255)) }
            }
        }
        return bytes
    }

    private func sky(x: Double, y: Double) -> SIMD3<Double> {
        let (dx, dy) = (x - sun.x, y - sun.y)
        let light = SIMD3(1, 0.86, 0.6) * exp(-(dx * dx + dy * dy) * 14) * 0.5
        let color = high + (low - high) * min(max(y / horizon, 0), 1) + light
        let cover = min(max((clouds.height(x * 1.5 + y * 2) + wind.height(y * 6 + x)) * 0.5, 0), 0.6)
        return color + (SIMD3(repeating: 1) - color) * cover
    }
}

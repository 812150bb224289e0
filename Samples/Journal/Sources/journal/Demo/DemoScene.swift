import Foundation

/// A generated scene that looks like a photograph at a glance: a sky with clouds and light, ranges of hills in haze,
/// and water, a meadow or a town in front.
///
/// The same seed produces the same scene. A scene is drawn small, and ``DemoPhoto`` enlarges it.
struct DemoScene: Sendable {
    private enum Ground { case water, meadow, town }

    private let noise: [Double]
    private let ground: Ground
    private let isNight: Bool
    private let horizon: Double
    private let sun: (x: Double, y: Double)
    private let high: SIMD3<Double>
    private let low: SIMD3<Double>
    private let land: SIMD3<Double>
    private let clouds: Double

    /// The number of values in each direction of the noise, a power of two.
    private static let side = 64

    init(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        noise = (0..<Self.side * Self.side).map { _ in Double.random(in: 0...1, using: &random) }
        let grounds: [Ground] = [.water, .water, .meadow, .meadow, .town]
        ground = grounds[Int.random(in: 0..<grounds.count, using: &random)]
        isNight = ground == .town && Bool.random(using: &random)
        horizon = Double.random(in: 0.4...0.62, using: &random)
        sun = (x: Double.random(in: 0.15...0.85, using: &random), y: Double.random(in: 0.12...0.4, using: &random))
        clouds = Double.random(in: 0.25...0.75, using: &random)
        let skies: [(SIMD3<Double>, SIMD3<Double>)] = [
            ([0.22, 0.46, 0.80], [0.78, 0.88, 0.96]), ([0.25, 0.28, 0.52], [0.98, 0.66, 0.42]),
            ([0.55, 0.66, 0.74], [0.86, 0.88, 0.88]), ([0.12, 0.34, 0.66], [0.97, 0.86, 0.70]),
        ]
        let sky = skies[Int.random(in: 0..<skies.count, using: &random)]
        high = isNight ? [0.02, 0.03, 0.10] : sky.0
        low = isNight ? [0.16, 0.14, 0.26] : sky.1
        let lands: [SIMD3<Double>] = [
            [0.20, 0.33, 0.16], [0.36, 0.30, 0.14], [0.16, 0.27, 0.20], [0.42, 0.36, 0.20],
        ]
        land = lands[Int.random(in: 0..<lands.count, using: &random)] * (isNight ? 0.25 : 1)
    }

    /// Returns the pixels of the scene, three bytes for each.
    ///
    /// - Parameter shift: The movement of the camera to the right, as a part of the width.
    func pixels(width: Int, height: Int, shift: Double = 0) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(width * height * 3)
        let aspect = Double(width) / Double(height)
        for row in 0..<height {
            let y = Double(row) / Double(height)
            for column in 0..<width {
                let x = Double(column) / Double(width)
                var color = color(x: (x + shift) * aspect, y: y)
                // The edges of a lens are darker, and its picture has a grain.
                let (dx, dy) = (x - 0.5, y - 0.5)
                color *= 1 - 0.55 * (dx * dx + dy * dy)
                color += (value(column &* 7 &+ row &* 13, y: row &* 5 &- column &* 3) - 0.5) * 0.035
                for channel in 0..<3 { bytes.append(UInt8(min(max(color[channel], 0), 1) * 255)) }
            }
        }
        return bytes
    }

    private func color(x: Double, y: Double) -> SIMD3<Double> {
        var color = sky(x: x, y: y)
        var isSky = true
        // Three ranges of hills. The farther one has more of the sky's color.
        for range in 0..<3 {
            let scale = 1.2 + Double(range) * 1.1
            let top =
                horizon - 0.17 + Double(range) * 0.085 + (fractal(x * scale + Double(range) * 9, y: 3.3) - 0.5) * 0.26
            guard y > top else { continue }
            let haze = 0.72 - Double(range) * 0.24
            let texture = 0.75 + fractal(x * 9, y: y * 16 + Double(range)) * 0.5
            color = land * texture * (1 - haze) + low * haze
            isSky = false
        }
        guard y > horizon else { return color }
        let depth = (y - horizon) / (1 - horizon)
        switch ground {
        case .water:
            // The reflection of the sky, broken by waves that are larger in front.
            let wave = fractal(x * 4 / (0.15 + depth), y: y * 42 / (0.3 + depth)) - 0.5
            let glitter = max(0, 1 - abs(x - sun.x * 1.5) * 5) * max(0, wave) * 2
            return sky(x: x + wave * 0.08, y: max(0, horizon - depth * horizon + wave * 0.1)) * (0.82 - depth * 0.35)
                + glitter
        case .meadow:
            let blade = fractal(x * 30 / (0.2 + depth), y: y * 26)
            let flower =
                value(Int(x * 90 / (0.3 + depth)), y: Int(y * 90)) > 0.985 ? SIMD3(0.5, 0.35, 0.1) : SIMD3(repeating: 0)
            return land * (0.7 + blade * 0.7) * (1.25 - depth * 0.3) + flower
        case .town: return town(x: x, y: y, depth: depth, behind: isSky ? low : color)
        }
    }

    private func sky(x: Double, y: Double) -> SIMD3<Double> {
        let part = min(1, y / max(horizon, 0.01))
        let (dx, dy) = (x - sun.x * 1.5, y - sun.y)
        let glow = exp(-(dx * dx + dy * dy) * 14) * (isNight ? 0.25 : 0.5)
        let cover = min(max((fractal(x * 2.2, y: y * 5 + 20) - (1 - clouds) * 0.75) * 2.2, 0), 1)
        let base = high + (low - high) * part
        let cloud = (low + SIMD3(repeating: 1)) * (isNight ? 0.12 : 0.5)
        return base + (cloud - base) * cover * 0.75 + SIMD3(1, 0.86, 0.6) * glow
    }

    private func town(x: Double, y: Double, depth: Double, behind: SIMD3<Double>) -> SIMD3<Double> {
        let column = Int((x * 11).rounded(.down))
        let roof = 0.04 + value(column, y: 5) * 0.3
        guard depth > roof else { return behind * (0.9 - depth * 0.3) }
        let wall = SIMD3(0.62, 0.55, 0.48) * (0.55 + value(column, y: 9) * 0.5) * (isNight ? 0.16 : 1)
        let (u, v) = (x * 11 * 5, depth * 26)
        let isWindow = u - u.rounded(.down) > 0.45 && v - v.rounded(.down) > 0.4
        guard isWindow else { return wall * (1.05 - depth * 0.35) }
        let isLit = value(Int(u), y: Int(v)) > (isNight ? 0.55 : 0.9)
        return isLit ? SIMD3(1, 0.82, 0.48) * (isNight ? 1 : 0.8) : wall * 0.45
    }

    // MARK: Noise

    private func value(_ x: Int, y: Int) -> Double {
        noise[(y & (Self.side - 1)) * Self.side + (x & (Self.side - 1))]
    }

    /// Returns a smooth noise between its values.
    private func smooth(_ x: Double, y: Double) -> Double {
        let (left, top) = (x.rounded(.down), y.rounded(.down))
        let (column, row) = (Int(left), Int(top))
        let (u, v) = (x - left, y - top)
        let (a, b) = (u * u * (3 - 2 * u), v * v * (3 - 2 * v))
        let above = value(column, y: row) * (1 - a) + value(column + 1, y: row) * a
        let below = value(column, y: row + 1) * (1 - a) + value(column + 1, y: row + 1) * a
        return above * (1 - b) + below * b
    }

    /// Returns the sum of four noises, each finer and weaker than the one before, from 0 to 1.
    private func fractal(_ x: Double, y: Double) -> Double {
        var (sum, weight, scale) = (0.0, 0.5, 1.0)
        for _ in 0..<4 {
            sum += smooth(x * scale, y: y * scale) * weight
            weight *= 0.5
            scale *= 2.1
        }
        return sum
    }
}

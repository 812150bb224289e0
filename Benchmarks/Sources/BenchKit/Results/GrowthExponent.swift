import Foundation

/// How a cost grows with the size: the exponent `e` of `cost = c × size^e`.
package enum GrowthExponent {
    /// The slope of the line that fits best, by least squares, through the logarithms: 0 for a cost that does not
    /// depend on the size, 1 for one in proportion to it.
    ///
    /// - Returns: nil without two different sizes, or when one of the numbers is not positive.
    package static func of(_ points: [(size: Double, cost: Double)]) -> Double? {
        guard points.allSatisfy({ $0.size > 0 && $0.cost > 0 }) else { return nil }
        let logs = points.map { (x: log($0.size), y: log($0.cost)) }
        let count = Double(logs.count)
        let (meanX, meanY) = (logs.map(\.x).reduce(0, +) / count, logs.map(\.y).reduce(0, +) / count)
        let spread = logs.map { ($0.x - meanX) * ($0.x - meanX) }.reduce(0, +)
        guard spread > 0 else { return nil }
        return logs.map { ($0.x - meanX) * ($0.y - meanY) }.reduce(0, +) / spread
    }
}

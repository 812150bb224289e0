import Foundation

/// The growth of a cost with the size: the exponent `e` of `cost = c × size^e`.
package enum GrowthExponent {
    /// Returns the slope of the least squares line through the logarithms. The slope is 0 for a cost that does not
    /// depend on the size, and 1 for a proportional cost.
    ///
    /// - Returns: nil without two different sizes, or if one of the numbers is not positive.
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

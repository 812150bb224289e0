/// The durations of many calls of one kind, in seconds.
package struct Latencies: Codable, Equatable, Sendable {
    package var count: Int
    package var median: Double
    package var p99: Double
    package var maximum: Double

    /// - Parameter seconds: the duration of each call. The result is nil for an empty list.
    package init?(_ seconds: [Double]) {
        guard let median = seconds.percentile(50), let p99 = seconds.percentile(99), let maximum = seconds.max()
        else { return nil }
        self.init(count: seconds.count, median: median, p99: p99, maximum: maximum)
    }

    package init(count: Int, median: Double, p99: Double, maximum: Double) {
        self.count = count
        self.median = median
        self.p99 = p99
        self.maximum = maximum
    }
}

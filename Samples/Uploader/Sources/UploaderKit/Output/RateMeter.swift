import Foundation

/// A byte rate smoothed over about half a minute, and the remaining time at this rate.
package struct RateMeter {
    package init() {}

    /// The number of seconds in which the weight of the past falls to 1/e.
    private static let memory = 30.0
    /// The time in seconds and the fraction of the work before which a remaining time is only a guess.
    private static let trustedSeconds = 5.0
    private static let trustedFraction = 0.02

    private var start: Double?
    private var last: (time: Double, bytes: Int64)?
    private var weightedBytes = 0.0
    private var weightedSeconds = 0.0

    /// Records the bytes so far at a time in seconds.
    package mutating func add(_ bytes: Int64, at time: Double) {
        defer { last = (time, bytes) }
        guard let last else { return start = time }
        let elapsed = time - last.time
        guard elapsed > 0 else { return }
        let decay = exp(-elapsed / Self.memory)
        weightedBytes = weightedBytes * decay + max(Double(bytes) - Double(last.bytes), 0)
        weightedSeconds = weightedSeconds * decay + elapsed
    }

    /// The rate in bytes per second.
    package var rate: Double { weightedSeconds > 0 ? weightedBytes / weightedSeconds : 0 }

    /// Returns the remaining seconds, or nil until the estimate is reliable.
    package func timeLeft(_ done: Int64, of total: Int64, at time: Double) -> Double? {
        guard let start, time - start >= Self.trustedSeconds, total > 0, rate > 0,
            Double(done) / Double(total) >= Self.trustedFraction
        else { return nil }
        return timeLeft(done, of: total)
    }

    /// Returns a rough estimate of the remaining seconds, starting after one second. Nil before there is progress.
    package func roughTimeLeft(_ done: Int64, of total: Int64, at time: Double) -> Double? {
        guard let start, time - start >= 1, total > 0, done > 0, rate > 0 else { return nil }
        return timeLeft(done, of: total)
    }

    private func timeLeft(_ done: Int64, of total: Int64) -> Double { max(Double(total) - Double(done), 0) / rate }
}

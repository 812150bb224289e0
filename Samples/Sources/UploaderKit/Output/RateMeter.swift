import Foundation

/// A byte rate smoothed over about half a minute, and the time that is left by it.
package struct RateMeter {
    package init() {}

    /// The weight of the past falls to 1/e in this many seconds.
    private static let memory = 30.0
    /// Before that much time and work has passed, a time left is a guess.
    private static let trustedSeconds = 5.0
    private static let trustedFraction = 0.02

    private var start: Double?
    private var last: (time: Double, bytes: Int64)?
    private var weightedBytes = 0.0
    private var weightedSeconds = 0.0

    /// Takes the bytes done so far at a time in seconds.
    package mutating func add(_ bytes: Int64, at time: Double) {
        defer { last = (time, bytes) }
        guard let last else { return start = time }
        let elapsed = time - last.time
        guard elapsed > 0 else { return }
        let decay = exp(-elapsed / Self.memory)
        weightedBytes = weightedBytes * decay + max(Double(bytes) - Double(last.bytes), 0)
        weightedSeconds = weightedSeconds * decay + elapsed
    }

    /// Bytes a second.
    package var rate: Double { weightedSeconds > 0 ? weightedBytes / weightedSeconds : 0 }

    /// Seconds until all is done, nil until it can be trusted.
    package func timeLeft(_ done: Int64, of total: Int64, at time: Double) -> Double? {
        guard let start, time - start >= Self.trustedSeconds, total > 0, rate > 0,
            Double(done) / Double(total) >= Self.trustedFraction
        else { return nil }
        return timeLeft(done, of: total)
    }

    /// The same from the first second on, by what there is to go by; nil before anything was done.
    package func roughTimeLeft(_ done: Int64, of total: Int64, at time: Double) -> Double? {
        guard let start, time - start >= 1, total > 0, done > 0, rate > 0 else { return nil }
        return timeLeft(done, of: total)
    }

    private func timeLeft(_ done: Int64, of total: Int64) -> Double { max(Double(total) - Double(done), 0) / rate }
}

import LFSSystem

/// A limit on bytes per second, as a value that is told the time: tokens come in steadily and each byte takes one.
///
/// Up to a tenth of a second's tokens are kept for a burst (the token bucket of RFC 2697, 3).
struct RateLimiter {
    private let bytesPerSecond: Double
    private let burst: Double
    private var tokens: Double
    private var last: ContinuousClock.Instant

    init(bytesPerSecond: Int, now: ContinuousClock.Instant) {
        self.bytesPerSecond = Double(max(bytesPerSecond, 1))
        burst = max(self.bytesPerSecond / 10, 1)
        tokens = burst
        last = now
    }

    /// How many of the bytes may go now; what it grants is taken.
    mutating func grant(_ wanted: Int, now: ContinuousClock.Instant) -> Int {
        fill(now)
        let granted = min(wanted, Int(saturating: max(tokens, 0).rounded(.down)))
        tokens -= Double(granted)
        return granted
    }

    /// Whether bytes that are there already may be taken. They may overdraw, and the next ones wait for longer.
    mutating func take(_ count: Int, now: ContinuousClock.Instant) -> Bool {
        fill(now)
        guard tokens >= 1 else { return false }
        tokens -= Double(count)
        return true
    }

    /// When it makes sense to ask again: when there are tokens for a good piece, so that nobody sends byte by byte.
    var nextGrant: ContinuousClock.Instant {
        let missing = max(min(burst, 16_384) - tokens, 0)
        return last.advanced(by: .seconds(missing / bytesPerSecond))
    }

    private mutating func fill(_ now: ContinuousClock.Instant) {
        guard now > last else { return }
        tokens = min(tokens + bytesPerSecond * ((now - last) / .seconds(1)), burst)
        last = now
    }
}

import LFSSystem

/// A token bucket that limits bytes per second (RFC 2697, section 3). Callers pass the current time.
///
/// Each byte takes a token. The bucket holds the tokens of a tenth of a second for bursts.
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

    /// Returns how many of the wanted bytes may be sent now, and takes their tokens.
    mutating func grant(_ wanted: Int, now: ContinuousClock.Instant) -> Int {
        fill(now)
        let granted = min(wanted, Int(saturating: max(tokens, 0).rounded(.down)))
        tokens -= Double(granted)
        return granted
    }

    /// Returns true if bytes that have already arrived may be processed. They may overdraw the bucket, so later bytes
    /// wait longer.
    mutating func take(_ count: Int, now: ContinuousClock.Instant) -> Bool {
        fill(now)
        guard tokens >= 1 else { return false }
        tokens -= Double(count)
        return true
    }

    /// The time at which the next request makes sense. The bucket then has tokens for a larger piece, so that callers
    /// do not send single bytes.
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

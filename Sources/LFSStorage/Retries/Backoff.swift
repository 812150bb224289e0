/// How long to wait before another try: a delay that doubles up to a cap, with full jitter.
///
/// Full jitter draws evenly between nothing and the doubled delay, so that clients that failed together do not
/// come back together (Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
public struct Backoff: Hashable, Sendable {
    /// The upper end of the first delay.
    public var base: Duration
    /// The upper end of every later delay.
    public var cap: Duration

    /// Delays that begin at `base` and double up to `cap`.
    public init(base: Duration = .milliseconds(100), cap: Duration = .seconds(60)) {
        self.base = base
        self.cap = cap
    }

    /// The longest that the delay after this many failures (1 or more) can be.
    public func ceiling(afterFailures failures: Int) -> Duration {
        var delay = base
        // No cap is 64 doublings away from a base that can be told from nothing.
        for _ in 1..<min(max(failures, 1), 64) where delay < cap { delay *= 2 }
        return min(delay, cap)
    }

    /// The delay after this many failures.
    ///
    /// - Parameters:
    ///   - failures: how many tries have failed so far, 1 or more.
    ///   - random: a number from 0 up to 1, drawn anew each time.
    public func delay(afterFailures failures: Int, random: Double) -> Duration {
        ceiling(afterFailures: failures) * min(max(random, 0), 1)
    }

    /// The delay after this many failures, or what the storage asked for with Retry-After if that is longer.
    ///
    /// - Parameter maxRetryAfter: the longest that a storage can ask for.
    package func delay(
        afterFailures failures: Int, _ error: StorageError, maxRetryAfter: Duration, random: Double
    ) -> Duration {
        max(delay(afterFailures: failures, random: random), min(error.retryAfter ?? .zero, maxRetryAfter))
    }
}

/// The delays between attempts: a delay that doubles up to a cap, with full jitter.
///
/// Full jitter draws evenly between zero and the doubled delay. So clients that failed together do not retry together
/// (Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
public struct Backoff: Hashable, Sendable {
    /// The longest first delay.
    public var base: Duration
    /// The longest of all later delays.
    public var cap: Duration

    /// Creates delays that start at `base` and double up to `cap`.
    public init(base: Duration = .milliseconds(100), cap: Duration = .seconds(60)) {
        self.base = base
        self.cap = cap
    }

    /// Returns the longest possible delay after this many failures (1 or more).
    package func ceiling(afterFailures failures: Int) -> Duration {
        var delay = base
        // After 64 doublings any measurable base exceeds every cap.
        for _ in 1..<min(max(failures, 1), 64) where delay < cap { delay *= 2 }
        return min(delay, cap)
    }

    /// Returns the delay after this many failures.
    ///
    /// - Parameters:
    ///   - failures: the number of failed attempts so far, 1 or more.
    ///   - random: a number in `0..<1`, drawn for each delay.
    package func delay(afterFailures failures: Int, random: Double) -> Duration {
        ceiling(afterFailures: failures) * min(max(random, 0), 1)
    }

    /// Returns the delay after this many failures, or the one that the storage requested with Retry-After if that is
    /// longer.
    ///
    /// - Parameter maxRetryAfter: the longest delay that a storage can request.
    package func delay(
        afterFailures failures: Int, _ error: StorageError, maxRetryAfter: Duration, random: Double
    ) -> Duration {
        max(delay(afterFailures: failures, random: random), min(error.retryAfter ?? .zero, maxRetryAfter))
    }
}

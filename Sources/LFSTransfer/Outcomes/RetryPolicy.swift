package import LFSStorage

/// What follows from a failed try.
package struct RetryPolicy: Sendable {
    package var backoff: Backoff
    /// The longest wait that a storage can ask for with Retry-After.
    package var maxRetryAfter: Duration
    /// Draws a number from 0 up to 1 for the jitter.
    package var random: @Sendable () -> Double

    package init(
        backoff: Backoff = Backoff(), maxRetryAfter: Duration = .seconds(3_600),
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        self.backoff = backoff
        self.maxRetryAfter = maxRetryAfter
        self.random = random
    }

    /// The delay after this many failures, or what the storage asked for if that is longer.
    package func delay(afterFailures failures: Int, _ error: StorageError) -> Duration {
        let asked = min(max(error.retryAfter ?? .zero, .zero), maxRetryAfter)
        return max(backoff.delay(afterFailures: failures, random: random()), asked)
    }

    /// What a try that ended with this error comes to.
    func result(of error: StorageError, _ job: TransferJob) -> TransferOutcome.Result {
        if error.code == .cancelled { return .givenBack }
        guard error.isRetryable else { return .failed(error) }
        // The storage as a whole is away: the pool waits for it with one probe, and no file is to blame.
        if error.code == .unreachable { return .retry(error, after: .zero, counts: false) }
        return .retry(error, after: delay(afterFailures: job.attempts + 1, error), counts: true)
    }
}

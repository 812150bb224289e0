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
        backoff.delay(afterFailures: failures, error, maxRetryAfter: maxRetryAfter, random: random())
    }

    /// So many tries in a row to read the local file have to fail before it is given up: a bad sector stays bad, while
    /// a disk that was pulled out comes back.
    static let maxUnreadable = 10

    /// What a try that ended with this error comes to.
    ///
    /// - Parameter sent: the bytes of the file that the try has sent.
    func result(of error: StorageError, _ job: TransferJob, sent: Int64) -> TransferOutcome.Result {
        if error.code == .cancelled { return .givenBack }
        if error.mayBeAboutStorage { return .waiting(error) }
        guard error.isRetryable else { return .failed(error) }
        // Tries that failed for other reasons say nothing about the file's readability.
        let isFirst = error.code == .sourceUnreadable && job.lastError != .sourceUnreadable
        let count = isFirst ? 1 : job.attempts + 1
        if error.code == .sourceUnreadable, count >= Self.maxUnreadable { return .failed(error) }
        let sending = job.sending.adding(sent, size: job.byteCount)
        let wait = max(delay(afterFailures: count, error), sending.wait(size: job.byteCount))
        return .retry(error, after: wait, TransferOutcome.Tries(count: count, sending: sending))
    }
}

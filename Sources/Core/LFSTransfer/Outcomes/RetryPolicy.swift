package import LFSStorage

/// The rules that turn a failed attempt into an outcome.
///
/// The delay before the next attempt of an upload is the longest of three: the ``Backoff`` of `LFSOptions`, the
/// storage's Retry-After up to ``maxRetryAfter``, and ``SendBudget/wait(size:)``. The default backoff is a random part
/// of 100 ms, doubled after each failure up to 60 s. `DatabaseJournal` stores the delay as `lfs_job.notBefore`, and the
/// feeder of ``ExecutorPool`` waits until then. A file of a locked device waits as after ten failures.
///
/// An error that may be about the whole storage delays no single file. ``ExecutorPool`` probes the storage instead.
package struct RetryPolicy: Sendable {
    package var backoff: Backoff
    /// The longest delay that a storage can request with Retry-After.
    package var maxRetryAfter: Duration
    /// Returns a random number in `0..<1` for the jitter.
    package var random: @Sendable () -> Double

    package init(
        backoff: Backoff = Backoff(), maxRetryAfter: Duration = .seconds(3_600),
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        self.backoff = backoff
        self.maxRetryAfter = maxRetryAfter
        self.random = random
    }

    /// Returns the delay after this many failures, or the one that the storage requested if that is longer.
    package func delay(afterFailures failures: Int, _ error: StorageError) -> Duration {
        backoff.delay(afterFailures: failures, error, maxRetryAfter: maxRetryAfter, random: random())
    }

    /// The number of consecutive failures to read the local file after which the upload is given up. A bad sector stays
    /// bad, while a disconnected disk may return.
    static let maxUnreadable = 10

    /// Returns the result of an attempt that ended with this error.
    ///
    /// - Parameter sent: the bytes of the file that the attempt has uploaded.
    func result(of error: StorageError, _ job: TransferJob, sent: Int64) -> TransferOutcome.Result {
        if error.code == .cancelled { return .givenBack }
        if error.mayBeAboutStorage { return .waiting(error) }
        guard error.isRetryable else { return .failed(error) }
        let sending = job.sending.adding(sent, size: job.byteCount)
        if error.code == .sourceLocked {
            // The device may stay locked for hours, which says nothing about the file.
            let wait = delay(afterFailures: Self.maxUnreadable, error)
            return .retry(error, after: wait, TransferOutcome.AttemptCount(count: job.attempts, sending: sending))
        }
        // Attempts that failed for other reasons do not show that the file is unreadable.
        let isFirst = error.code == .sourceUnreadable && job.lastError != .sourceUnreadable
        let count = isFirst ? 1 : job.attempts + 1
        if error.code == .sourceUnreadable, count >= Self.maxUnreadable { return .failed(error) }
        let wait = max(delay(afterFailures: count, error), sending.wait(size: job.byteCount))
        return .retry(error, after: wait, TransferOutcome.AttemptCount(count: count, sending: sending))
    }
}

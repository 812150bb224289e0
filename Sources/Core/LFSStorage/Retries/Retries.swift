/// The number of attempts for a call that a person waits for, and the delays between them.
package struct Retries: Sendable {
    private let maxAttempts: Int
    private let backoff: Backoff
    private let clock: any Clock<Duration>
    private let random: @Sendable () -> Double
    private let repeatsCancelled: Bool

    /// - Parameters:
    ///   - maxAttempts: the total number of attempts, at least 1.
    ///   - random: returns a random number in `0..<1` for the jitter.
    ///   - repeatsCancelled: true to retry a call that the storage reports as cancelled although the task is not.
    package init(
        maxAttempts: Int, backoff: Backoff, clock: any Clock<Duration>, random: @escaping @Sendable () -> Double,
        repeatsCancelled: Bool
    ) {
        self.maxAttempts = max(maxAttempts, 1)
        self.backoff = backoff
        self.clock = clock
        self.random = random
        self.repeatsCancelled = repeatsCancelled
    }

    /// Returns when the next attempt is due: after the backoff, or after the delay that the storage requested with
    /// Retry-After if that is longer. It never waits longer than the backoff's cap.
    ///
    /// - Throws: the error if no further attempt should follow, or `CancellationError` if the task is cancelled during
    ///   the wait.
    package func wait(afterFailures failures: Int, _ error: any Error) async throws {
        // Any other error comes from the sink. A retry would not fix it, for example a full disk.
        guard let failure = error as? StorageError, failure.isRetryable, failures < maxAttempts,
            repeatsCancelled || failure.code != .cancelled
        else { throw error }
        let delay = backoff.delay(afterFailures: failures, failure, maxRetryAfter: backoff.cap, random: random())
        try await clock.sleep(for: delay)
    }
}

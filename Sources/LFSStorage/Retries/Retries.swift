/// How often a call that somebody waits for is tried, and how long to wait before each further try.
package struct Retries: Sendable {
    private let maxAttempts: Int
    private let backoff: Backoff
    private let clock: any Clock<Duration>
    private let random: @Sendable () -> Double
    private let repeatsCancelled: Bool

    /// - Parameters:
    ///   - maxAttempts: how often it is tried in all, at least once.
    ///   - random: draws a number from 0 up to 1 for the jitter.
    ///   - repeatsCancelled: whether to try again what the storage calls cancelled, though the task is not.
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

    /// Returns when the next try is due: after the backoff, or what the storage asked for with Retry-After if that is
    /// longer, but never later than the backoff's cap.
    ///
    /// - Throws: the error, when no further try is to follow; `CancellationError` when the task is cancelled meanwhile.
    package func wait(afterFailures failures: Int, _ error: any Error) async throws {
        // Anything but a storage's own error came from the sink, and a full disk is not mended by asking again.
        guard let failure = error as? StorageError, failure.isRetryable, failures < maxAttempts,
            repeatsCancelled || failure.code != .cancelled
        else { throw error }
        let delay = backoff.delay(afterFailures: failures, failure, maxRetryAfter: backoff.cap, random: random())
        try await clock.sleep(for: delay)
    }
}

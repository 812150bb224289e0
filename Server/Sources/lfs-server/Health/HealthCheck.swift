import Logging

/// A check of one part that the server needs, such as the database.
///
/// It keeps its outcome for a few seconds, so that frequent probes cost little. Concurrent probes share one run.
actor HealthCheck {
    /// The result of a check.
    enum Outcome: Sendable, Hashable {
        case passed
        /// - Parameter message: a sentence for anyone, without names of hosts and paths.
        case failed(message: String)
    }

    /// The name of the part.
    nonisolated let name: String
    private let lifetime: Duration
    private let patience: Duration
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let body: @Sendable () async throws -> Void

    private var kept: (outcome: Outcome, age: () -> Duration)?
    private var last: Outcome?
    private var running: Task<Void, Never>?
    private var waiting: [AsyncStream<Void>.Continuation] = []

    /// - Parameters:
    ///   - lifetime: the time for which an outcome is kept.
    ///   - patience: the time that a probe waits for the check. After it, the check counts as failed until it ends.
    ///   - body: throws ``HealthFailure`` with a sentence for anyone. Only the log contains other errors.
    init(
        _ name: String, logger: Logger, lifetime: Duration = .seconds(3), patience: Duration = .seconds(5),
        clock: any Clock<Duration> = ContinuousClock(), _ body: @escaping @Sendable () async throws -> Void
    ) {
        self.name = name
        self.logger = logger
        self.lifetime = lifetime
        self.patience = patience
        self.clock = clock
        self.body = body
    }

    /// Returns the kept outcome, or runs the check.
    func outcome() async -> Outcome {
        if let kept, kept.age() < lifetime { return kept.outcome }
        if running == nil {
            // A task of its own, because a check that hangs must not hold a probe. The check waits for it before the
            // next run.
            running = Task { await run() }
        }
        if await isEnded(), let kept { return kept.outcome }
        let outcome = Outcome.failed(message: "No answer within \(patience.components.seconds) seconds.")
        report(outcome, error: nil)
        return outcome
    }

    private func run() async {
        let outcome: Outcome
        var cause: (any Error)?
        do {
            try await body()
            outcome = .passed
        } catch let failure as HealthFailure {
            outcome = .failed(message: failure.message)
            cause = failure.cause
        } catch {
            outcome = .failed(message: "The check failed. The log contains the reason.")
            cause = error
        }
        kept = (outcome, clock.stopwatch())
        running = nil
        report(outcome, error: cause)
        for probe in waiting { probe.finish() }
        waiting = []
    }

    /// Waits for the end of the run, but not longer than the patience. Returns true if the run has ended.
    private func isEnded() async -> Bool {
        let (ends, probe) = AsyncStream.makeStream(of: Void.self)
        waiting.append(probe)
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await _ in ends {}
                return !Task.isCancelled
            }
            group.addTask { [clock, patience] in
                // A cancelled sleep means that the probe is gone.
                try? await clock.sleep(for: patience)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }

    /// Logs the outcome if it differs from the one before.
    private func report(_ outcome: Outcome, error: (any Error)?) {
        defer { last = outcome }
        switch outcome {
        case .passed:
            guard let last, last != .passed else { return }
            logger.notice("A health check passes again.", metadata: ["check": "\(name)"])
        case .failed(let message):
            guard last != outcome else { return }
            var metadata: Logger.Metadata = ["check": "\(name)", "reason": "\(message)"]
            if let error { metadata["error"] = "\(error)" }
            logger.error("A health check fails.", metadata: metadata)
        }
    }
}

/// The failure of a check, with a sentence for anyone.
struct HealthFailure: Error {
    let message: String
    /// The error for the log.
    var cause: (any Error)?
}

import LFSDatabase
import LFSFiles
import LFSStorage

#if Metrics
import Metrics

/// The instruments of a manager. They are created once, when it opens, by the factory that is in effect then. Their
/// dimensions have few values: the kind of the storage, the outcome, the code of an error.
struct Instruments: Sendable {
    /// The instruments of one kind of operation.
    private struct Operation: Sendable {
        var counts: [TelemetryOutcome: Counter] = [:]
        var durations: [TelemetryOutcome: Metrics.Timer] = [:]
        var bytes: Counter?
        var failures: [FailureCode: Counter] = [:]
    }

    /// True if a metrics backend is installed.
    let areHeard = !(MetricsSystem.factory is NOOPMetricsHandler)
    /// Wakes the reporter of the queue.
    let queueChange = QueueChange()
    private let operations: [TelemetryOperation: Operation]
    private let retries: [FailureCode: Counter]
    private let queuedFiles = Meter(label: "lfs.pending.files", dimensions: [("state", "queued")])
    private let failedFiles = Meter(label: "lfs.pending.files", dimensions: [("state", "failed")])
    private let queuedBytes = Meter(label: "lfs.pending.bytes")
    private let oldestAge = Meter(label: "lfs.pending.oldest_age")
    private let executors = Meter(label: "lfs.executors")

    init(storage: String) {
        let storage = ("storage", storage)
        var operations: [TelemetryOperation: Operation] = [:]
        for operation in TelemetryOperation.allCases { operations[operation] = Self.make(operation, storage: storage) }
        self.operations = operations
        retries = Self.counters(of: .upload) {
            Counter(label: "lfs.retries", dimensions: [storage, ("reason", $0.name)])
        }
    }

    private static func make(_ operation: TelemetryOperation, storage: (String, String)) -> Operation {
        let name = "lfs.\(operation.rawValue)"
        var made = Operation()
        for outcome in TelemetryOutcome.allCases {
            let outcomes = [("outcome", outcome.rawValue)]
            if operation != .ingest {
                made.counts[outcome] = Counter(label: "\(name)s", dimensions: [storage] + outcomes)
            }
            if operation != .delete {
                made.durations[outcome] = Metrics.Timer(
                    label: "\(name).duration", dimensions: operation == .ingest ? outcomes : [storage] + outcomes,
                    preferredDisplayUnit: .seconds)
            }
        }
        if operation == .upload || operation == .download {
            made.bytes = Counter(label: "\(name).bytes", dimensions: [storage])
        }
        made.failures = counters(of: operation) {
            Counter(
                label: "lfs.failures",
                dimensions: [storage, ("operation", operation.rawValue), ("code", $0.name)])
        }
        return made
    }

    /// Returns one counter for each code with which an operation may fail.
    private static func counters(
        of operation: TelemetryOperation, _ make: (FailureCode) -> Counter
    ) -> [FailureCode: Counter] {
        let codes = FailureCode.known(of: operation).union([.other])
        return Dictionary(uniqueKeysWithValues: codes.map { ($0, make($0)) })
    }

    // MARK: Operations

    /// Runs the body and measures its outcome and duration.
    ///
    /// - Parameter byteCount: the number of bytes to count when it succeeds.
    func measuring<Result>(
        _ operation: TelemetryOperation, byteCount: Int64 = 0, _ body: () async throws -> Result
    ) async throws -> Result {
        guard areHeard else { return try await body() }
        let start = ContinuousClock.now
        do {
            let result = try await body()
            end(operation, failure: nil, after: .now - start)
            operations[operation]?.bytes?.increment(by: byteCount)
            return result
        } catch {
            end(operation, failure: FailureCode(error), after: .now - start)
            throw error
        }
    }

    /// Does the same as ``measuring(_:byteCount:_:)`` for many files at once.
    func measuring(
        _ operation: TelemetryOperation, all count: Int,
        _ body: () async throws -> [Result<IngestedFile, FileError>]
    ) async throws -> [Result<IngestedFile, FileError>] {
        let start = ContinuousClock.now
        do {
            let results = try await body()
            let share = (ContinuousClock.now - start) / max(count, 1)
            for result in results {
                switch result {
                case .success: end(operation, failure: nil, after: share)
                case .failure(let error): end(operation, failure: FailureCode(error), after: share)
                }
            }
            return results
        } catch {
            let share = (ContinuousClock.now - start) / max(count, 1)
            for _ in 0..<count { end(operation, failure: FailureCode(error), after: share) }
            throw error
        }
    }

    func countDeletion(_ error: StorageError?) { end(.delete, failure: error.map { FailureCode($0) }, after: nil) }

    private func end(_ operation: TelemetryOperation, failure: FailureCode?, after duration: Duration?) {
        let instruments = operations[operation]
        let outcome: TelemetryOutcome = failure == nil ? .success : failure == .cancelled ? .cancelled : .failure
        instruments?.counts[outcome]?.increment()
        if let duration { instruments?.durations[outcome]?.record(duration: duration) }
        if let failure, outcome == .failure { instruments?.failures[failure.known(of: operation)]?.increment() }
    }

    func countRetry(_ error: StorageError) { retries[FailureCode(error).known(of: .upload)]?.increment() }

    // MARK: Queue

    func report(_ backlog: Backlog) {
        queuedFiles.set(backlog.queued)
        failedFiles.set(backlog.failed)
        queuedBytes.set(backlog.queuedBytes)
    }

    /// - Parameter seconds: the time that the oldest file has waited for its upload. 0 when none is pending.
    func report(oldestAge seconds: Double) { oldestAge.set(seconds) }

    func report(executors count: Int) { executors.set(count) }
}
#else
/// Instruments that measure nothing, because the package's trait `Metrics` is off.
struct Instruments: Sendable {
    let queueChange = QueueChange()

    init(storage: String) {}

    func measuring<Result>(
        _ operation: TelemetryOperation, byteCount: Int64 = 0, _ body: () async throws -> Result
    ) async throws -> Result {
        try await body()
    }

    func measuring(
        _ operation: TelemetryOperation, all count: Int,
        _ body: () async throws -> [Result<IngestedFile, FileError>]
    ) async throws -> [Result<IngestedFile, FileError>] {
        try await body()
    }

    func countDeletion(_ error: StorageError?) {}

    func countRetry(_ error: StorageError) {}
}
#endif

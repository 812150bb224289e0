import Dispatch
import LFSSyncServer
import Synchronization

/// A pool that lends each worker to one caller at a time, in order of arrival.
final class PostgresPool: Sendable {
    private struct State {
        var idle: [PostgresWorker]
        var waiting: [(ticket: Int, continuation: CheckedContinuation<PostgresWorker, any Error>)] = []
        var nextTicket = 0
        var isClosed = false
        var closing: CheckedContinuation<Void, Never>?
    }

    private let count: Int
    private let patience: Duration
    private let state: Mutex<State>

    init(_ url: PostgresURL, options: PostgresOptions) {
        count = max(options.connectionLimit, 1)
        patience = options.patience
        // The last worker is taken first, so that only as many connections are opened as are used concurrently.
        state = Mutex(State(idle: (0..<count).map { _ in PostgresWorker(url, options: options) }))
    }

    /// The use of the workers at this moment.
    var status: PostgresPoolStatus {
        state.withLock { state in
            PostgresPoolStatus(
                limit: count, usedCount: count - state.idle.count, waitingCount: state.waiting.count)
        }
    }

    /// Calls a closure with a worker that no other caller uses.
    ///
    /// - Throws: `SQLFailure` with `busy` if no worker is free in time, `CancellationError`, and the errors of the
    ///   closure.
    func withWorker<Value: Sendable>(
        _ body: (PostgresWorker) async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let worker = try await take()
        defer { give(worker) }
        return try await body(worker)
    }

    private func take() async throws -> PostgresWorker {
        let ticket = state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let answer: Result<PostgresWorker, any Error>? = state.withLock { state in
                    if state.isClosed { return .failure(Self.closed) }
                    if let worker = state.idle.popLast() { return .success(worker) }
                    state.waiting.append((ticket, continuation))
                    return nil
                }
                if let answer { return continuation.resume(with: answer) }
                // The task may have been cancelled before it started to wait.
                if Task.isCancelled { return refuse(ticket, error: CancellationError()) }
                DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(patience.milliseconds)) {
                    [weak self] in
                    self?.refuse(
                        ticket, error: SQLFailure(.busy, message: "No connection to the database was free in time."))
                }
            }
        } onCancel: {
            refuse(ticket, error: CancellationError())
        }
    }

    private static let closed = SQLFailure(.unavailable, message: "The database is closed.")

    private func refuse(_ ticket: Int, error: any Error) {
        let found = state.withLock { state in
            state.waiting.firstIndex { $0.ticket == ticket }.map { state.waiting.remove(at: $0).continuation }
        }
        found?.resume(throwing: error)
    }

    private func give(_ worker: PostgresWorker) {
        let next: CheckedContinuation<PostgresWorker, any Error>? = state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst().continuation }
            state.idle.append(worker)
            return nil
        }
        next?.resume(returning: worker)
        let closing: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard state.idle.count == count else { return nil }
            defer { state.closing = nil }
            return state.closing
        }
        closing?.resume()
    }

    /// Waits for running transactions and closes all connections.
    func close() async {
        let refused: [CheckedContinuation<PostgresWorker, any Error>] = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [] }
            return state.waiting.map(\.continuation)
        }
        for continuation in refused { continuation.resume(throwing: Self.closed) }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isIdle: Bool = state.withLock { state in
                if state.idle.count == count || state.closing != nil { return true }
                state.closing = continuation
                return false
            }
            if isIdle { continuation.resume() }
        }
        for worker in state.withLock({ $0.idle }) { await worker.close() }
    }
}

extension Duration {
    /// The duration in whole milliseconds, from 1 to `Int32.max`. It is 0 for a duration of zero or less.
    var milliseconds: Int {
        let (seconds, attoseconds) = components
        let whole = Int(clamping: seconds).multipliedReportingOverflow(by: 1_000)
        guard !whole.overflow else { return Int(Int32.max) }
        let value = whole.partialValue + Int(attoseconds / 1_000_000_000_000_000)
        return self > .zero ? min(max(value, 1), Int(Int32.max)) : 0
    }
}

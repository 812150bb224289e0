import Dispatch
import LFSSyncServer
import Synchronization

/// Hands out workers, one caller each, to whoever has waited longest.
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

    init(_ url: PostgresURL, _ options: PostgresOptions) {
        count = max(options.connectionLimit, 1)
        patience = options.patience
        // The last one is taken first: as few connections are opened as are needed at once.
        state = Mutex(State(idle: (0..<count).map { _ in PostgresWorker(url, options) }))
    }

    /// Calls a closure with a worker that nobody else has.
    ///
    /// - Throws: `SQLFailure` with `busy` when none is free in time, `CancellationError`, and what the closure throws.
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
                // It may have been cancelled before it waited.
                if Task.isCancelled { return refuse(ticket, CancellationError()) }
                DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(patience.milliseconds)) {
                    [weak self] in
                    self?.refuse(ticket, SQLFailure(.busy, "No connection to the database was free in time."))
                }
            }
        } onCancel: {
            refuse(ticket, CancellationError())
        }
    }

    private static let closed = SQLFailure(.unavailable, "The database is closed.")

    private func refuse(_ ticket: Int, _ error: any Error) {
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

    /// Waits for what is under way, and ends all connections.
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
    /// Whole milliseconds, at least one unless it is zero.
    var milliseconds: Int {
        let (seconds, attoseconds) = components
        let whole = Int(clamping: seconds).multipliedReportingOverflow(by: 1_000)
        guard !whole.overflow else { return Int(Int32.max) }
        let value = whole.partialValue + Int(attoseconds / 1_000_000_000_000_000)
        return self > .zero ? min(max(value, 1), Int(Int32.max)) : 0
    }
}

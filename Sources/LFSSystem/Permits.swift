import Synchronization

/// A number of things that may happen at once; who asks for more waits for its turn, in order.
package final class Permits: Sendable {
    private struct State {
        var free: Int
        var nextTicket = 0
        var waiting: [(ticket: Int, continuation: CheckedContinuation<Bool, Never>)] = []
    }

    private let state: Mutex<State>

    /// - Parameter count: at least 1, and less counts as 1.
    package init(_ count: Int) {
        state = Mutex(State(free: max(count, 1)))
    }

    /// Runs the body when its turn comes.
    ///
    /// - Throws: `CancellationError` when the task was cancelled while it waited.
    package func withPermit<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await acquire()
        defer { release() }
        return try await body()
    }

    /// As ``withPermit(_:)``, but a cancelled task waits too. For what has to be done at a stop as well.
    package func withPermitThroughCancellation<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        _ = await turn(nextTicket(), endsWithTask: false)
        defer { release() }
        return try await body()
    }

    /// Waits for a turn, which ``release()`` gives back.
    ///
    /// - Throws: `CancellationError` when the task was cancelled first; there is nothing to give back then.
    package func acquire() async throws {
        let ticket = nextTicket()
        let isGranted = await withTaskCancellationHandler {
            await turn(ticket, endsWithTask: true)
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiting.firstIndex { $0.ticket == ticket }.map { state.waiting.remove(at: $0) }
            }
            waiter?.continuation.resume(returning: false)
        }
        if !isGranted { throw CancellationError() }
    }

    private func nextTicket() -> Int {
        state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
    }

    /// Returns false when the wait was ended.
    ///
    /// - Parameter endsWithTask: whether a task that is cancelled already gets none.
    private func turn(_ ticket: Int, endsWithTask: Bool) async -> Bool {
        await withCheckedContinuation { continuation in
            let answer: Bool? = state.withLock { state in
                if endsWithTask, Task.isCancelled { return false }
                if state.free > 0 {
                    state.free -= 1
                    return true
                }
                state.waiting.append((ticket, continuation))
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// Ends a turn; the next one begins.
    package func release() {
        let next = state.withLock { state in
            if state.waiting.isEmpty {
                state.free += 1
                return nil as CheckedContinuation<Bool, Never>?
            }
            return state.waiting.removeFirst().continuation
        }
        next?.resume(returning: true)
    }
}

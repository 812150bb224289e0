import Synchronization

/// One task that waits for one answer.
///
/// The answer may come before the task waits for it, and only the first one counts.
///
/// Owner of the continuation: one mutex, which is free again when the task is resumed.
package final class Waiter<Answer: Sendable>: Sendable {
    private struct State {
        var answer: Answer?
        var continuation: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    package func resume(returning answer: Answer) {
        let continuation = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.answer == nil else { return nil }
            state.answer = answer
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume()
    }

    /// Returns the answer as soon as there is one. A cancelled task waits too.
    package func wait() async -> Answer {
        while true {
            // Under the lock, not through the continuation: the thread sanitizer does not see the continuation's order.
            if let answer = state.withLock({ $0.answer }) { return answer }
            await withCheckedContinuation { continuation in
                let isAnswered = state.withLock { state in
                    if state.answer == nil { state.continuation = continuation }
                    return state.answer != nil
                }
                if isAnswered { continuation.resume() }
            }
        }
    }

    /// As ``wait()``, and calls the closure when the task is cancelled, or at once when it was. The closure sees to it
    /// that an answer comes.
    package func wait(onCancel: @Sendable () -> Void) async -> Answer {
        await withTaskCancellationHandler {
            await wait()
        } onCancel: {
            onCancel()
        }
    }
}

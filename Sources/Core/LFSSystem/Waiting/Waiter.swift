import Synchronization

/// A task that waits for a single answer.
///
/// The answer may arrive before the task waits for it. Later answers are ignored.
///
/// One mutex owns the continuation. It is released before the task is resumed.
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

    /// Returns the answer when there is one. A cancelled task waits too.
    package func wait() async -> Answer {
        while true {
            // The answer passes through the lock, because the thread sanitizer does not see the order of the
            // continuation.
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

    /// Waits like ``wait()``, and calls the closure when the task is cancelled, or at once if it already was. The
    /// closure must ensure that an answer arrives.
    package func wait(onCancel: @Sendable () -> Void) async -> Answer {
        await withTaskCancellationHandler {
            await wait()
        } onCancel: {
            onCancel()
        }
    }
}

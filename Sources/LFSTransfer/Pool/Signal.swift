import Synchronization

/// Wakes one waiting task. A signal that comes while nobody waits is kept, and several of them count as one.
///
/// Only one task waits at a time.
package final class Signal: Sendable {
    private struct State {
        var isSet = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    /// Whether a task waits for it. While one does, no signal is kept.
    package var isAwaited: Bool { state.withLock { $0.waiter != nil } }

    package func notify() {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            if state.waiter == nil { state.isSet = true }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Returns after the next signal, or at once when one is kept, or when the task is cancelled.
    package func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    // A cancelled task does not act on the signal: it is kept for the next one that waits.
                    if Task.isCancelled { return true }
                    if state.isSet {
                        state.isSet = false
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume()
        }
    }

    /// As ``wait()``, but a cancelled task waits too. For one that has to outlive those it serves.
    func waitThroughCancellation() async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if state.isSet {
                    state.isSet = false
                    return true
                }
                state.waiter = continuation
                return false
            }
            if isReady { continuation.resume() }
        }
    }

    /// As ``wait()``, but returns after the time as well. Nil waits for a signal only.
    package func wait(for time: Duration?, clock: any Clock<Duration>) async {
        guard let time else { return await wait() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait() }
            group.addTask {
                // An early end of the sleep means that the signal came first.
                do { try await clock.sleep(for: time) } catch { return }
            }
            await group.next()
            group.cancelAll()
        }
    }
}

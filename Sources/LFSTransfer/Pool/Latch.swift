import Synchronization

/// Opens once and stays open; any number of tasks can wait for it.
package final class Latch: Sendable {
    private struct State {
        var isOpen = false
        var nextID = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// How many tasks wait for it.
    package var waiterCount: Int { state.withLock { $0.waiters.count } }

    package func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns when the latch is open or the task is cancelled.
    package func wait() async {
        let id = makeID()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if state.isOpen || Task.isCancelled { return true }
                    state.waiters[id] = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
    }

    /// As ``wait()``, but a cancelled task waits too. For one that must not go on before.
    package func waitThroughCancellation() async {
        let id = makeID()
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if !state.isOpen { state.waiters[id] = continuation }
                return state.isOpen
            }
            if isReady { continuation.resume() }
        }
    }

    private func makeID() -> Int {
        state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
    }

    /// Returns when the latch is open, the signal rings or the time is over. Without either of these two it waits for the latch.
    package func wait(orFor signal: Signal? = nil, atMost time: Duration?, clock: any Clock<Duration>) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait() }
            if let signal { group.addTask { await signal.wait() } }
            if let time {
                group.addTask {
                    // An early end of the sleep means that something else came first.
                    do { try await clock.sleep(for: time) } catch { return }
                }
            }
            await group.next()
            group.cancelAll()
        }
    }
}

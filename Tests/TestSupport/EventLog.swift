import Synchronization

/// What happened, in order; a test waits until it shows what the test wants to see.
///
/// Owner of its state: the mutex.
package final class EventLog<Event: Sendable>: Sendable {
    private struct State {
        var events: [Event] = []
        var watchers: [(isMet: @Sendable ([Event]) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    package init() {}

    package var events: [Event] { state.withLock { $0.events } }

    package func add(_ event: Event) {
        let ready = state.withLock { state in
            state.events.append(event)
            let events = state.events
            let ready = state.watchers.filter { $0.isMet(events) }
            if !ready.isEmpty { state.watchers.removeAll { $0.isMet(events) } }
            return ready
        }
        for watcher in ready { watcher.continuation.resume() }
    }

    package func wait(until isMet: @escaping @Sendable ([Event]) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if isMet(state.events) { return true }
                state.watchers.append((isMet, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
    }
}

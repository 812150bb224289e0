import Synchronization

/// The events in order. A test waits until they meet its condition.
///
/// The mutex owns the state.
package final class EventLog<Event: Sendable>: Sendable {
    private struct State {
        var events: [Event] = []
        var watchers = Watchers<[Event]>()
    }

    private let state = Mutex(State())

    package init() {}

    package var events: [Event] { state.withLock { $0.events } }

    package func add(_ event: Event) {
        let ready = state.withLock { state in
            state.events.append(event)
            return state.watchers.takeReady(state.events)
        }
        for continuation in ready { continuation.resume() }
    }

    /// Returns when the events meet a condition, or when the task is cancelled.
    package func wait(until isMet: @escaping @Sendable ([Event]) -> Bool) async {
        let id = state.withLock { $0.watchers.makeID() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if Task.isCancelled || isMet(state.events) { return true }
                    state.watchers.add(id, isMet: isMet, continuation: continuation)
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.watchers.remove(id) }?.resume()
        }
    }
}

/// The tasks that wait for a condition. They are part of the state that the condition reads, under the same lock.
struct Watchers<Value: Sendable>: Sendable {
    typealias Condition = @Sendable (Value) -> Bool

    private var waiting: [Int: (isMet: Condition, continuation: CheckedContinuation<Void, Never>)] = [:]
    private var lastID = 0

    mutating func makeID() -> Int {
        lastID += 1
        return lastID
    }

    mutating func add(_ id: Int, isMet: @escaping Condition, continuation: CheckedContinuation<Void, Never>) {
        waiting[id] = (isMet, continuation)
    }

    mutating func remove(_ id: Int) -> CheckedContinuation<Void, Never>? {
        waiting.removeValue(forKey: id)?.continuation
    }

    mutating func takeReady(_ value: Value) -> [CheckedContinuation<Void, Never>] {
        let ready = waiting.filter { $0.value.isMet(value) }
        for id in ready.keys { waiting[id] = nil }
        return ready.values.map(\.continuation)
    }
}

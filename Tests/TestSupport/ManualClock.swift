import Synchronization

/// A clock that a test advances. A sleep ends when ``advance(by:)`` passes its deadline, or when its task is cancelled.
///
/// The mutex owns the state.
package final class ManualClock: Clock {
    package struct Instant: InstantProtocol {
        package var offset: Duration

        package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        package func duration(to other: Instant) -> Duration { other.offset - offset }
        package static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct State {
        var now = Instant(offset: .zero)
        var nextID = 0
        var sleepers: [Int: (deadline: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var watchers = Watchers<[Duration]>()

        /// The remaining times of the sleepers, shortest first.
        var remaining: [Duration] { sleepers.values.map { $0.deadline.offset - now.offset }.sorted() }
    }

    private let state = Mutex(State())

    package init() {}

    package var now: Instant { state.withLock { $0.now } }
    package var minimumResolution: Duration { .nanoseconds(1) }
    package var remaining: [Duration] { state.withLock { $0.remaining } }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (answer, watchers) = state.withLock {
                    state -> (Result<Void, any Error>?, [CheckedContinuation<Void, Never>]) in
                    if Task.isCancelled { return (.failure(CancellationError()), []) }
                    if deadline <= state.now { return (.success(()), []) }
                    state.sleepers[id] = (deadline, continuation)
                    return (nil, state.watchers.takeReady(state.remaining))
                }
                for watcher in watchers { watcher.resume() }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            let sleeper = state.withLock { $0.sleepers.removeValue(forKey: id) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Advances the time and wakes the sleepers that are due.
    package func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.sorted { $0.deadline < $1.deadline }
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }

    /// Returns when the remaining times of the sleepers, shortest first, meet a condition, or when the task is
    /// cancelled.
    package func waitForSleepers(until isMet: @escaping @Sendable ([Duration]) -> Bool = { !$0.isEmpty }) async {
        let id = state.withLock { $0.watchers.makeID() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if Task.isCancelled || isMet(state.remaining) { return true }
                    state.watchers.add(id, isMet: isMet, continuation: continuation)
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.watchers.remove(id) }?.resume()
        }
    }

    /// Repeatedly advances the time to the end of the shortest sleep, until the task is cancelled.
    package func runFreely() async {
        while !Task.isCancelled {
            await waitForSleepers()
            if let next = remaining.first { advance(by: next) }
        }
    }
}

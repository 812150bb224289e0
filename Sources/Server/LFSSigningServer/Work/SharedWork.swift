import LFSSystem
import Synchronization

/// A registry of work that may take longer than its callers wait. The work for a key runs once for all concurrent
/// callers, and continues when they leave. A later caller joins it.
///
/// The mutex owns the work, which ends when it is finished or with ``stop()``.
final class SharedWork<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, any Error>
    /// The callers that wait for a work. The value is nil until the work has ended.
    private typealias Waiting = WaitQueue<Outcome?, Outcome?>

    private struct Work {
        let waiting: Waiting
        let task: Task<Void, Never>
    }

    private let state = Mutex<(works: [Key: Work], isStopped: Bool)>(([:], false))

    /// Returns true if work for a key is running.
    func isUnderWay(_ key: Key) -> Bool { state.withLock { $0.works[key] != nil } }

    /// The number of callers that wait for running works.
    var waiterCount: Int { state.withLock { $0.works.values.reduce(0) { $0 + $1.waiting.waiterCount } } }

    /// Returns the result of the work for a key. Starts the work unless it is running.
    ///
    /// - Parameter wait: returns when the caller stops waiting. Nil to wait until the end.
    /// - Returns: nil if the work continues after that.
    /// - Throws: errors of the work, and `CancellationError` if the calling task was cancelled, or after a stop.
    func value(
        for key: Key, orUntil wait: (@Sendable () async -> Void)?,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        guard let waiting = join(key, body) else { throw CancellationError() }
        let outcome = await Self.outcome(waiting, wait)
        try Task.checkCancellation()
        return try outcome?.get()
    }

    private static func outcome(_ waiting: Waiting, _ wait: (@Sendable () async -> Void)?) async -> Outcome? {
        let end: @Sendable () async -> Outcome? = {
            await waiting.wait(ifCancelled: .some(nil)) { $0.map(Optional.some) }
        }
        guard let wait else { return await end() }
        let outcomes = await race(
            end,
            {
                await wait()
                return nil
            })
        return outcomes.compactMap(\.self).first
    }

    private func join(_ key: Key, _ body: @escaping @Sendable () async throws -> Value) -> Waiting? {
        state.withLock { state in
            if state.isStopped { return nil }
            if let work = state.works[key] { return work.waiting }
            let task = Task {
                let outcome: Outcome
                do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
                self.end(key, outcome: outcome)
            }
            let work = Work(waiting: Waiting(nil), task: task)
            state.works[key] = work
            return work.waiting
        }
    }

    private func end(_ key: Key, outcome: Outcome) {
        let waiting = state.withLock { $0.works.removeValue(forKey: key)?.waiting }
        waiting?.change { word, line in
            word = outcome
            line.answerAll(outcome)
        }
    }

    /// Cancels the running works and waits for their end. Later callers are refused.
    func stop() async {
        let tasks = state.withLock { state in
            state.isStopped = true
            return state.works.values.map(\.task)
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }
}

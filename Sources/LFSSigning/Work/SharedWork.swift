import LFSSystem
import Synchronization

/// Work that takes longer than who asks for it waits: it is done once for all that ask, and goes on when they leave.
/// Whoever asks again joins it.
///
/// Owner of the works: the mutex. They end by themselves or with ``stop()``.
final class SharedWork<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, any Error>
    /// Who waits for a work; nil until it has come to its end.
    private typealias Waiting = WaitQueue<Outcome?, Outcome?>

    private struct Work {
        let waiting: Waiting
        let task: Task<Void, Never>
    }

    private let state = Mutex<(works: [Key: Work], isStopped: Bool)>(([:], false))

    /// Whether somebody's work for a key is under way.
    func isUnderWay(_ key: Key) -> Bool { state.withLock { $0.works[key] != nil } }

    /// How many wait for the works that are under way.
    var waiterCount: Int { state.withLock { $0.works.values.reduce(0) { $0 + $1.waiting.waiterCount } } }

    /// What the work for a key comes to, which is begun unless it is under way.
    ///
    /// - Parameter wait: returns when nobody waits any longer; nil to wait until the end.
    /// - Returns: nil when the work goes on after that.
    /// - Throws: what the work has thrown; `CancellationError` when who asks was cancelled, or after a stop.
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
                self.end(key, outcome)
            }
            let work = Work(waiting: Waiting(nil), task: task)
            state.works[key] = work
            return work.waiting
        }
    }

    private func end(_ key: Key, _ outcome: Outcome) {
        let waiting = state.withLock { $0.works.removeValue(forKey: key)?.waiting }
        waiting?.change { word, line in
            word = outcome
            line.answerAll(outcome)
        }
    }

    /// Ends what is under way and waits for that. Whoever asks from now on is refused.
    func stop() async {
        let tasks = state.withLock { state in
            state.isStopped = true
            return state.works.values.map(\.task)
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }
}

import LFSStorage
import LFSSystem
import Synchronization

/// Keeps what the signing server has answered until shortly before it ends, and lets one caller ask for all that want
/// the same.
///
/// Owner of its state: the mutex. Nothing of it is ever written anywhere.
final class AnswerCache<Key: Hashable & Sendable, Answer: Equatable & Sendable>: Sendable {
    /// So much of an answer's life is used: what is sent at its end still has to arrive.
    static var usedShare: Double { 0.8 }

    typealias Outcome = Result<Answer, StorageError>
    /// What somebody asks for just now; nil until there is an outcome.
    typealias Pending = WaitQueue<Outcome?, Outcome>

    private struct Kept: Sendable {
        let answer: Answer
        let end: Duration
    }

    private struct State {
        var kept: [Key: Kept] = [:]
        var asking: [Key: Pending] = [:]
    }

    private let capacity: Int
    private let isForOneUse: Bool
    private let clock: Elapsed
    private let state = Mutex(State())

    /// - Parameters:
    ///   - capacity: how many answers are kept; when there are more, those that end first go.
    ///   - isForOneUse: whether who finds an answer takes it out.
    init(capacity: Int, isForOneUse: Bool = false, clock: Elapsed) {
        self.capacity = capacity
        self.isForOneUse = isForOneUse
        self.clock = clock
    }

    var count: Int { state.withLock { $0.kept.count } }

    /// The answer that is kept or that somebody asks for just now, or else the one to a question of the caller's own.
    ///
    /// - Parameters:
    ///   - lifetime: how long an answer holds; nil for one that is not kept.
    ///   - ask: asks the server.
    func answer(
        for key: Key, lifetime: (Answer) -> Duration?, _ ask: () async throws(StorageError) -> Answer
    ) async throws(StorageError) -> Answer {
        while true {
            guard !Task.isCancelled else { throw StorageError(wrapping: CancellationError()) }
            switch find(key) {
            case .kept(let answer): return answer
            case .asked(let pending):
                let cancelled = Outcome.failure(StorageError(wrapping: CancellationError()))
                switch await pending.wait(ifCancelled: cancelled, { $0 }) {
                case .success(let answer): return answer
                // That one was cancelled, or this one.
                case .failure(let error) where error.code == .cancelled: continue
                case .failure(let error): throw error
                }
            case .nothing:
                guard !claim([key]).isEmpty else { continue }
                let asked = clock.now
                do throws(StorageError) {
                    let answer = try await ask()
                    settle(key, .success(answer), lifetime: lifetime(answer), asked: asked, isTaken: isForOneUse)
                    return answer
                } catch {
                    settle(key, .failure(error), lifetime: nil, asked: asked)
                    throw error
                }
            }
        }
    }

    /// What was found under a key.
    private enum Found {
        case kept(Answer)
        case asked(Pending)
        case nothing
    }

    private func find(_ key: Key) -> Found {
        let now = clock.now
        return state.withLock { state in
            if let kept = state.kept[key] {
                if isForOneUse || kept.end <= now { state.kept[key] = nil }
                if kept.end > now { return .kept(kept.answer) }
            }
            return state.asking[key].map(Found.asked) ?? .nothing
        }
    }

    /// Those of the keys that are neither kept nor asked for. The caller asks for them now, and has to call ``settle``
    /// for each.
    func claim(_ keys: [Key]) -> [Key] {
        let now = clock.now
        return state.withLock { state in
            keys.filter { key in
                if let kept = state.kept[key], kept.end > now { return false }
                guard state.asking[key] == nil else { return false }
                state.asking[key] = Pending(nil)
                return true
            }
        }
    }

    /// Ends a claim.
    ///
    /// - Parameters:
    ///   - lifetime: how long the answer holds from `asked` on; nil for one that is not kept.
    ///   - isTaken: whether the one who asked has used it up.
    func settle(_ key: Key, _ outcome: Outcome, lifetime: Duration?, asked: Duration, isTaken: Bool = false) {
        let pending = state.withLock { state -> Pending? in
            let pending = state.asking.removeValue(forKey: key)
            let isUsed = isTaken || (isForOneUse && (pending?.waiterCount ?? 0) > 0)
            if !isUsed, let lifetime, case .success(let answer) = outcome {
                keep(key, answer, asked + lifetime * Self.usedShare, &state)
            }
            return pending
        }
        pending?.change { word, line in
            word = outcome
            line.answerAll(outcome)
        }
    }

    /// Drops an answer that turned out to be of no use, unless there is a newer one: many may find it out at once.
    func drop(_ key: Key, _ answer: Answer) {
        state.withLock { state in
            if state.kept[key]?.answer == answer { state.kept[key] = nil }
        }
    }

    private func keep(_ key: Key, _ answer: Answer, _ end: Duration, _ state: inout State) {
        let now = clock.now
        guard end > now else { return }
        if state.kept.count >= capacity { state.kept = state.kept.filter { $0.value.end > now } }
        while state.kept.count >= capacity, let oldest = state.kept.min(by: { $0.value.end < $1.value.end })?.key {
            state.kept[oldest] = nil
        }
        state.kept[key] = Kept(answer: answer, end: end)
    }
}

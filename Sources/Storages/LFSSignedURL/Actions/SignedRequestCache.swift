import LFSStorage
import LFSSystem
import Synchronization

/// A cache of the signing server's answers. It keeps an answer until shortly before it expires, and only one caller at
/// a time asks for the same key. It has its own single flight, because one caller may ask for several keys at once.
///
/// The mutex owns the state. The cache lives in memory only.
final class SignedRequestCache<Key: Hashable & Sendable, Answer: Equatable & Sendable>: Sendable {
    /// The share of an answer's lifetime during which it is used. A request sent at its end must still arrive in time.
    static var usedShare: Double { 0.8 }

    typealias Outcome = Result<Answer, StorageError>
    /// A running request for an answer. nil until there is an outcome.
    typealias Pending = WaitQueue<Outcome?, Outcome>

    private struct Entry: Sendable {
        let answer: Answer
        let end: Duration
    }

    private struct State {
        var kept: [Key: Entry] = [:]
        var asking: [Key: Pending] = [:]
    }

    private let capacity: Int
    private let isForOneUse: Bool
    private let clock: Elapsed
    private let state = Mutex(State())

    /// - Parameters:
    ///   - capacity: the maximum number of answers. If there are more, those that expire first are removed.
    ///   - isForOneUse: true to remove an answer when a caller uses it.
    init(capacity: Int, isForOneUse: Bool = false, clock: Elapsed) {
        self.capacity = capacity
        self.isForOneUse = isForOneUse
        self.clock = clock
    }

    var count: Int { state.withLock { $0.kept.count } }

    /// Returns the cached answer, or the answer to a running request. Otherwise it asks the server.
    ///
    /// - Parameters:
    ///   - lifetime: returns how long an answer is valid, or nil for an answer that must not be cached.
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
                // The other caller was cancelled, or this one.
                case .failure(let error) where error.code == .cancelled: continue
                case .failure(let error): throw error
                }
            case .nothing:
                guard !claim([key]).isEmpty else { continue }
                let asked = clock.now
                do throws(StorageError) {
                    let answer = try await ask()
                    settle(
                        key, outcome: .success(answer), lifetime: lifetime(answer), asked: asked, isTaken: isForOneUse)
                    return answer
                } catch {
                    settle(key, outcome: .failure(error), lifetime: nil, asked: asked)
                    throw error
                }
            }
        }
    }

    /// The result of a lookup.
    private enum Lookup {
        case kept(Answer)
        case asked(Pending)
        case nothing
    }

    private func find(_ key: Key) -> Lookup {
        let now = clock.now
        return state.withLock { state in
            if let kept = state.kept[key] {
                if isForOneUse || kept.end <= now { state.kept[key] = nil }
                if kept.end > now { return .kept(kept.answer) }
            }
            return state.asking[key].map(Lookup.asked) ?? .nothing
        }
    }

    /// Returns the keys that are neither cached nor requested, and marks them as requested. The caller must request
    /// them and call ``settle`` for each.
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

    /// Records the outcome of a request and ends its claim.
    ///
    /// - Parameters:
    ///   - lifetime: how long the answer is valid from `asked` on, or nil for an answer that must not be cached.
    ///   - isTaken: true if the caller has used the answer up.
    func settle(_ key: Key, outcome: Outcome, lifetime: Duration?, asked: Duration, isTaken: Bool = false) {
        let pending = state.withLock { state -> Pending? in
            let pending = state.asking.removeValue(forKey: key)
            let isUsed = isTaken || (isForOneUse && (pending?.waiterCount ?? 0) > 0)
            if !isUsed, let lifetime, case .success(let answer) = outcome {
                keep(key, answer: answer, end: asked + lifetime * Self.usedShare, state: &state)
            }
            return pending
        }
        pending?.change { word, line in
            word = outcome
            line.answerAll(outcome)
        }
    }

    /// Removes an answer that turned out to be useless. A newer answer is kept, because several callers may find this
    /// out at once.
    func drop(_ key: Key, answer: Answer) {
        state.withLock { state in
            if state.kept[key]?.answer == answer { state.kept[key] = nil }
        }
    }

    private func keep(_ key: Key, answer: Answer, end: Duration, state: inout State) {
        let now = clock.now
        guard end > now else { return }
        if state.kept.count >= capacity { state.kept = state.kept.filter { $0.value.end > now } }
        while state.kept.count >= capacity, let oldest = state.kept.min(by: { $0.value.end < $1.value.end })?.key {
            state.kept[oldest] = nil
        }
        state.kept[key] = Entry(answer: answer, end: end)
    }
}

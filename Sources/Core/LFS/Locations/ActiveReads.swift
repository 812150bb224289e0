import LFSSystem
import Synchronization

/// The local copies that readers in this process use, including copies that a reader is still waiting for.
///
/// Eviction by a policy skips them. Their space would not be free before they are closed, and a reader that has just
/// fetched a copy must find it.
final class ActiveReads: Sendable {
    private struct State {
        var counts: [FileID: Int] = [:]
        /// The signal to notify when a file is no longer in use.
        var waiting: [FileID: Signal] = [:]
    }

    private let state = Mutex(State())

    func contains(_ id: FileID) -> Bool { state.withLock { $0.counts[id] != nil } }

    /// Marks a local copy as in use, for as long as the returned value exists.
    func begin(_ id: FileID) -> ReadLease {
        state.withLock { $0.counts[id, default: 0] += 1 }
        return ReadLease(of: id, in: self)
    }

    /// Notifies the signal as soon as one of the files is not in use, or immediately if one is unused now.
    func ring(_ signal: Signal, whenUnused ids: [FileID]) {
        let isUnused = state.withLock { state in
            for id in ids { state.waiting[id] = signal }
            let unused = ids.filter { state.counts[$0] == nil }
            for id in unused { state.waiting[id] = nil }
            return !unused.isEmpty
        }
        if isUnused { signal.notify() }
    }

    fileprivate func end(_ id: FileID) {
        let signal = state.withLock { state -> Signal? in
            let left = (state.counts[id] ?? 0) - 1
            state.counts[id] = left > 0 ? left : nil
            return left > 0 ? nil : state.waiting.removeValue(forKey: id)
        }
        signal?.notify()
    }
}

/// A use of a local copy. It ends when the value is released.
final class ReadLease: Sendable {
    private let id: FileID
    private let all: ActiveReads

    fileprivate init(of id: FileID, in all: ActiveReads) {
        self.id = id
        self.all = all
    }

    deinit { all.end(id) }
}

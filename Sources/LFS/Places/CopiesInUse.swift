import LFSSystem
import Synchronization

/// The local copies that this process reads, or waits for to read them. Eviction by a policy passes them over: their
/// space would not be free before they are closed, and a reader that has just fetched one must find it.
final class CopiesInUse: Sendable {
    private struct State {
        var counts: [FileID: Int] = [:]
        /// Whom to tell when a file is not in use any more.
        var waiting: [FileID: Signal] = [:]
    }

    private let state = Mutex(State())

    func contains(_ id: FileID) -> Bool { state.withLock { $0.counts[id] != nil } }

    /// The use lasts as long as the value that it returns.
    func begin(_ id: FileID) -> CopyUse {
        state.withLock { $0.counts[id, default: 0] += 1 }
        return CopyUse(of: id, in: self)
    }

    /// Rings as soon as one of the files is not in use, at once if one is not now.
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

/// A use of a local copy, which ends with it.
final class CopyUse: Sendable {
    private let id: FileID
    private let all: CopiesInUse

    fileprivate init(of id: FileID, in all: CopiesInUse) {
        self.id = id
        self.all = all
    }

    deinit { all.end(id) }
}

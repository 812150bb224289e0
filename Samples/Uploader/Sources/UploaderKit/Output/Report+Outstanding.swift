import LFS
import Synchronization

/// Files that were removed before their upload, which must not count as uploaded.
extension Report {
    /// The maximum number of files of which the report keeps the ids. The others count as uploaded once no file is
    /// pending.
    static let outstandingLimit = 10_000

    /// The files whose upload is not reported yet.
    var outstanding: [FileData.ID] { state.withLock { Array($0.outstanding.keys) } }

    /// Takes files out of the totals because their rows were deleted.
    func removed(unreported ids: [FileData.ID]) {
        state.withLock { state in
            for id in ids {
                guard let byteCount = state.outstanding.removeValue(forKey: id) else { continue }
                state.ends(id)
                state.reasons[id] = nil
                state.tally.retrying.remove(id)
                state.tally.givenUp.remove(id)
                state.tally.totalFiles = max(state.tally.totalFiles - 1, 0)
                state.tally.totalBytes = max(state.tally.totalBytes - byteCount, 0)
            }
        }
        stirs()
    }
}

extension Report.State {
    /// Adds a file whose upload will be reported.
    mutating func expect(_ id: FileData.ID, byteCount: Int64) {
        if outstanding.count < Report.outstandingLimit { outstanding[id] = byteCount }
    }
}

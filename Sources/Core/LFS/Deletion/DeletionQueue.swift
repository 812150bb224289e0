import LFSDatabase
import LFSTransfer

/// The operations of an app on pending deletions.
struct DeletionQueue: Sendable {
    let runner: BackgroundRunner
    let pool: ExecutorPool
    let waiting: RowWait
    /// Wakes the worker.
    let wake: @Sendable () -> Void

    /// Returns the number of deleted files that still have bytes on this device or the storage, without those whose
    /// deletion is held.
    func wait(_ timeout: Duration?) async throws -> Int {
        try await waiting.wait(timeout) { [pool] db in
            if pool.isKnownAway { return true }
            return try !TombstoneTable.hasUntried(db) && !OwnerlessFileTable.hasUntried(db)
        }
        return try await runner.read { db in try TombstoneTable.count(db) + OwnerlessFileTable.count(db) }
    }

    /// Returns the number of deletions that had failed.
    func retry() async throws -> Int {
        let count = try await runner.write { db in
            try TombstoneTable.retryAll(db) + OwnerlessFileTable.retryAll(db)
        }
        wake()
        return count
    }
}

import LFSDatabase
import LFSTransfer

/// What an app asks of the deletions that are under way.
struct DeletionQueue: Sendable {
    let runner: BackgroundRunner
    let pool: ExecutorPool
    let waiting: RowWait
    /// Wakes the worker.
    let wake: @Sendable () -> Void

    /// Returns how many deleted files still have bytes somewhere, without those whose deletion is held.
    func wait(_ timeout: Duration?) async throws -> Int {
        try await waiting.wait(timeout) { [pool] db in
            if pool.isKnownAway { return true }
            return try !TombstoneTable.hasUntried(db) && !DisownedTable.hasUntried(db)
        }
        return try await runner.read { db in try TombstoneTable.count(db) + DisownedTable.count(db) }
    }

    /// Returns how many there are.
    func retry() async throws -> Int {
        let count = try await runner.write { db in
            try TombstoneTable.retryAll(db) + DisownedTable.retryAll(db)
        }
        wake()
        return count
    }
}

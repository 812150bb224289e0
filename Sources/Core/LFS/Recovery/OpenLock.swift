import LFSSystem

/// The rules for acquiring the open lock of a store, which shows which processes have the database open.
enum OpenLock {
    private static let tries = 50

    /// Acquires the exclusive open lock if no other process has the database open, otherwise the shared one.
    ///
    /// Finishing a reset requires the exclusive lock. It removes everything that no row knows, and another process
    /// could be making files. Such a reset may also come from a process that died while this one waited for its lock.
    /// - Returns: whether it is the exclusive lock.
    /// - Throws: ``LFSError/Code/openElsewhere`` when a reset has to be finished and other processes have the database
    ///   open.
    static func take(_ lock: FileLock, isResetting: @escaping @Sendable () async throws -> Bool) async throws -> Bool {
        // Several processes that find the reset may try at the same time and block each other for a moment.
        for _ in 0..<tries {
            let isAlone = try await BlockingPool.shared.run { _ in
                // If this succeeds, no other process has the database open, so unfinished files have no owner.
                if try lock.tryLock(.exclusive) { return true }
                try lock.lock(.shared)
                return false
            }
            if isAlone { return true }
            if try await !isResetting() { return false }
            try lock.unlock()
        }
        throw LFSError(
            .openElsewhere,
            message: """
                A reset of this database is unfinished. It cannot be finished while another process has the database \
                open. Close it there, then open it again.
                """
        )
    }
}

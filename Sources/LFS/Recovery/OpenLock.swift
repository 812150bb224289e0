import LFSSystem

/// How an opening takes the open lock of a store, which says who has the database open.
enum OpenLock {
    private static let tries = 50

    /// Takes the exclusive open lock if nobody else has the database open, or else the shared one.
    ///
    /// Only the exclusive one will do where a reset is to be finished: what the rows do not know is removed then, and
    /// another process could be making files. One whose process has died while this one waited for it has left such a
    /// reset behind.
    /// - Returns: whether it is the exclusive one.
    /// - Throws: ``LFSError/Code/openElsewhere`` when a reset is to be finished and others have the database open.
    static func take(_ lock: FileLock, isResetting: @escaping @Sendable () async throws -> Bool) async throws -> Bool {
        // Several that find the reset look on together, and each is in the others' way for a moment.
        for _ in 0..<tries {
            let isAlone = try await BlockingPool.shared.run { _ in
                // Nobody else has the database open if this succeeds, so whatever is unfinished has no owner.
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
            """
            A reset of this database has not come to its end, and another process has the database open, so it cannot \
            be finished. Close it there, then open it again.
            """
        )
    }
}

import LFSSystem

/// How an opening takes the lease of a store.
enum Lease {
    /// Takes the exclusive lease if nobody else has the database open, or else the shared one.
    ///
    /// - Returns: whether it is the exclusive one.
    static func take(_ lease: FileLock, isResetting: @escaping @Sendable () async throws -> Bool) async throws -> Bool {
        _ = try await isResetting()
        return try await BlockingPool.shared.run { _ in
            // Nobody else has the database open if this succeeds, so whatever is unfinished has no owner.
            if try lease.tryLock(.exclusive) { return true }
            try lease.lock(.shared)
            return false
        }
    }
}

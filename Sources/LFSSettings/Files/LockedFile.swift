import LFSFiles
import LFSSystem

/// What one at a time does, in this process and in all others: with the lock (`flock`) on a file, which ends with the
/// process.
///
/// Tasks of this process wait for their turn without a thread. Only the one whose turn it is blocks a thread, as long
/// as another process has the lock: with a thread for each of them none would be left to the one that has it.
enum LockedFile {
    /// A file, whatever its names are.
    struct Identity: Sendable, Hashable, Comparable {
        let device: UInt64
        let inode: UInt64

        init(_ status: FileStatus) { (device, inode) = (status.device, status.inode) }

        static func < (left: Self, right: Self) -> Bool { (left.device, left.inode) < (right.device, right.inode) }
    }

    /// Of this process, as the locks are. They hold no data.
    private static let turns = Turns<Identity>()

    /// - Parameters:
    ///   - open: opens the lock file, and what the body needs. It may block the thread.
    ///   - body: runs while nobody else has the lock.
    ///   - pool: whose thread waits for the lock.
    static func with<Opened: Sendable, Result>(
        _ open: @escaping @Sendable () throws -> (file: Descriptor, opened: Opened),
        _ body: (Opened) async throws -> Result, waitingOn pool: BlockingPool = .shared
    ) async throws -> Result {
        let (file, identity, opened) = try await BlockingPool.shared.run { _ in
            let (file, opened) = try open()
            return (file, Identity(try file.status()), opened)
        }
        return try await turns.withTurn(identity) {
            let lock = FileLock(file)
            try await pool.run { _ in try lock.lock(.exclusive) }
            // The lock goes with its last reference, at the end of this.
            defer { withExtendedLifetime(lock) {} }
            return try await body(opened)
        }
    }
}

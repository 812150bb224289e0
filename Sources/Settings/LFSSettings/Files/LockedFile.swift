import LFSFiles
import LFSSystem

/// A mutex across tasks and processes: the lock (`flock`) on a file, which ends with the process.
///
/// Tasks of this process wait in line without a thread. Only the first of them blocks a thread while another process
/// holds the lock. If each task blocked a thread, none would be left for the task that holds the lock.
enum LockedFile {
    /// The identity of a file, independent of its names.
    struct Identity: Sendable, Hashable, Comparable {
        let device: UInt64
        let inode: UInt64

        init(_ status: FileStatus) { (device, inode) = (status.device, status.inode) }

        static func < (left: Self, right: Self) -> Bool { (left.device, left.inode) < (right.device, right.inode) }
    }

    /// The waiting tasks of this process, because the file's lock belongs to the process. The mutex holds no data.
    private static let turns = KeyedMutex<Identity>()

    /// - Parameters:
    ///   - open: opens the lock file, and the resources that the body needs. It may block the thread.
    ///   - body: runs while no other task or process holds the lock.
    ///   - pool: the pool whose thread waits for the lock.
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
            // The lock is released with its last reference, at the end of this closure.
            defer { withExtendedLifetime(lock) {} }
            return try await body(opened)
        }
    }
}

import Foundation
import LFSFiles
import LFSSystem

/// Lets one process at a time migrate the settings of a database: a lock (`flock`) on `<database file>.settings.lock`,
/// which ends with the process.
struct MigrationLock: Sendable {
    /// The file of the database; empty for one in memory, which no other process has.
    let databasePath: String

    func run(_ body: () async throws -> Void) async throws {
        guard !databasePath.isEmpty else { return try await body() }
        let path = databasePath as NSString
        let (folder, name) = (path.deletingLastPathComponent, path.lastPathComponent + ".settings.lock")
        let lock = try await BlockingPool.shared.run { _ in
            let lock = FileLock(try OwnFolder.openLockFile(name, in: try Directory.open(folder)))
            try lock.lock(.exclusive)
            return lock
        }
        defer { withExtendedLifetime(lock) {} }
        try await body()
    }
}

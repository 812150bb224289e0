import Foundation
import LFSFiles
package import LFSSystem

/// Lets one process at a time do something with what belongs to a database: a lock (`flock`) on a file beside it, which
/// ends with the process.
package struct DatabaseLock: Sendable {
    package enum Purpose: String, Sendable {
        /// Migrating the settings.
        case settings
        /// Changing a secret in a service that has no changes of its own that read before they write.
        case secrets
    }

    /// The file of the database; empty for one in memory, which no other process has.
    let databasePath: String
    let purpose: Purpose
    private let pool: BlockingPool

    /// The lock on `<database file>.<purpose>.lock`.
    ///
    /// - Parameter pool: whose thread waits for the lock.
    package init(databasePath: String, _ purpose: Purpose, waitingOn pool: BlockingPool = .shared) {
        (self.databasePath, self.purpose, self.pool) = (databasePath, purpose, pool)
    }

    package func run<Result>(_ body: () async throws -> Result) async throws -> Result {
        guard !databasePath.isEmpty else { return try await body() }
        let path = databasePath as NSString
        let (folder, name) = (path.deletingLastPathComponent, "\(path.lastPathComponent).\(purpose.rawValue).lock")
        let lock = try await pool.run { _ in
            let lock = FileLock(try OwnFolder.openLockFile(name, in: try Directory.open(folder)))
            try lock.lock(.exclusive)
            return lock
        }
        defer { withExtendedLifetime(lock) {} }
        return try await body()
    }
}

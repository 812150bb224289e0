import Foundation
import LFSFiles
package import LFSSystem

/// A lock for work on the files and secrets of a database, across all tasks and processes. It locks (`flock`) a file
/// next to the database.
package struct DatabaseLock: Sendable {
    /// The work that the lock protects. A holder of one lock may take those declared below it, never those above it.
    /// The lock of a folder with values comes between `removal` and `rootKey`: its holder may make a root key, but not
    /// finish a removal.
    package enum Purpose: String, Sendable {
        /// Migrating values of earlier versions.
        case settings
        /// Finishing a removal of all values.
        case removal = "settings-removal"
        /// Making a root key.
        case rootKey = "settings-key"
        /// Changing a secret in a service without atomic updates.
        case secrets
    }

    /// The path of the database file, or empty for a database in memory, which no other process can open.
    let databasePath: String
    let purpose: Purpose
    private let pool: BlockingPool
    /// The waiting tasks of this process that use the same lock, also for a database in memory.
    private let turns = AsyncSemaphore(1)

    /// Creates the lock on `<database file>.<purpose>.lock`.
    ///
    /// - Parameter pool: the pool whose thread waits for the lock.
    package init(databasePath: String, _ purpose: Purpose, waitingOn pool: BlockingPool = .shared) {
        self.databasePath = databasePath
        self.purpose = purpose
        self.pool = pool
    }

    package func run<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await turns.withPermit {
            guard !databasePath.isEmpty else { return try await body() }
            let path = databasePath as NSString
            let (folder, name) = (path.deletingLastPathComponent, "\(path.lastPathComponent).\(purpose.rawValue).lock")
            return try await LockedFile.with(
                { (try OwnFolder.openLockFile(name, in: try Directory.open(folder)), ()) },
                { _ in try await body() }, waitingOn: pool)
        }
    }
}

import Foundation
import LFSFiles
package import LFSSystem

/// Lets one at a time do something with what belongs to a database, in whatever process: a lock (`flock`) on a file
/// beside it.
package struct DatabaseLock: Sendable {
    /// What is done. Who does one of them may begin one that stands below it, and none above: who has the lock of a
    /// folder with values, which stands between the last two, may have a root key made, and no removal ended.
    package enum Purpose: String, Sendable {
        /// Taking over values of earlier versions.
        case settings
        /// Ending a removal of everything.
        case removal = "settings-removal"
        /// Making a root key.
        case rootKey = "settings-key"
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
        return try await LockedFile.with(
            { (try OwnFolder.openLockFile(name, in: try Directory.open(folder)), ()) },
            { _ in try await body() }, waitingOn: pool)
    }
}

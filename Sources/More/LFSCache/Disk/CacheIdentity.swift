import GRDB
import LFSDatabase
import LFSSystem

/// The identity of the installation that the entries belong to: the database, and its last reset on this device. The
/// cache starts empty when the identity changes.
struct CacheIdentity: Hashable, Sendable {
    let databaseID: String
    let lastReset: Int64

    init(databaseID: String, lastReset: Int64) {
        self.databaseID = databaseID
        self.lastReset = lastReset
    }

    /// Returns the identity from the app's database, and the database's path. The path of an in-memory database is
    /// empty.
    static func read(_ db: Database) throws -> (identity: CacheIdentity, path: String) {
        let identity = try DatabaseIdentity(db)
        return (
            CacheIdentity(databaseID: identity.databaseID.text, lastReset: try StateTable.lastReset(db)),
            identity.path
        )
    }
}

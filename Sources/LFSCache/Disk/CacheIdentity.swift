import GRDB
import LFSDatabase
import LFSSystem

/// Of which install the entries are: the database, and its last reset on this device. With any other the cache begins
/// empty.
struct CacheIdentity: Hashable, Sendable {
    let databaseID: String
    let lastReset: Int64

    init(databaseID: String, lastReset: Int64) {
        self.databaseID = databaseID
        self.lastReset = lastReset
    }

    /// What the app's database says, and where it is; an empty path for one in memory.
    static func read(_ db: Database) throws -> (identity: CacheIdentity, path: String) {
        let identity = try DatabaseIdentity(db)
        return (
            CacheIdentity(databaseID: identity.databaseID.text, lastReset: try StateTable.lastReset(db)),
            identity.path
        )
    }
}

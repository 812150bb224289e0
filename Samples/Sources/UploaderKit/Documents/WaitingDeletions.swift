import GRDB

/// Files that were removed, and whose bytes are not gone from the storage yet.
enum WaitingDeletions {
    /// - Throws: the database's error.
    static func count(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM lfs_tombstone") ?? 0
    }
}

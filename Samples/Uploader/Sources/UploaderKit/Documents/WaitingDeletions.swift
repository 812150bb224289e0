import GRDB

/// Removed files whose objects are not deleted from the storage yet.
enum WaitingDeletions {
    /// Returns the number of deletions that a run can carry out.
    ///
    /// - Throws: the database's error.
    static func count(_ db: Database) throws -> Int { try count(isHeld: false, db) }

    /// Returns the number of deletions that wait until the sync server has accepted them.
    ///
    /// - Throws: the database's error.
    static func heldCount(_ db: Database) throws -> Int { try count(isHeld: true, db) }

    /// Returns the most frequent reason for which the storage rejects deletions, or nil if it rejects none.
    ///
    /// - Throws: the database's error.
    static func reason(_ db: Database) throws -> String? {
        let sql = """
            SELECT errorMessage FROM lfs_tombstone WHERE isHeld = 0 AND errorMessage IS NOT NULL
            GROUP BY errorMessage ORDER BY COUNT(*) DESC LIMIT 1
            """
        return try Row.fetchOne(db, sql: sql).flatMap { String.fromDatabaseValue($0[0]) }
    }

    private static func count(isHeld: Bool, _ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM lfs_tombstone WHERE isHeld = ?", arguments: [isHeld]) ?? 0
    }
}

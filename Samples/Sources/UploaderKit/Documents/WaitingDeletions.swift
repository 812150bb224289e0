import GRDB

/// Files that were removed, and whose bytes are not gone from the storage yet.
enum WaitingDeletions {
    /// Returns how many a run can carry out.
    ///
    /// - Throws: the database's error.
    static func count(_ db: Database) throws -> Int { try count(isHeld: false, db) }

    /// Returns how many wait until the sync server has accepted them.
    ///
    /// - Throws: the database's error.
    static func heldCount(_ db: Database) throws -> Int { try count(isHeld: true, db) }

    /// Returns why the storage has refused most of them; nil when it has refused none.
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

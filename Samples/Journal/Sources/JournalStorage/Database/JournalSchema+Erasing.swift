public import GRDB

extension JournalSchema {
    /// The beginnings of the names of tables that the journal does not own.
    private static let foreign = ["lfs_", "grdb_", "sqlite_"]

    /// Deletes the rows of all tables of the journal. References are checked when the transaction commits.
    static func eraseAll(_ db: Database) throws {
        try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
        let tables = try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        for table in tables where !foreign.contains(where: { table.hasPrefix($0) }) {
            try db.execute(sql: "DELETE FROM \(table.quotedDatabaseIdentifier)")
        }
    }
}

extension DatabaseStorageService {
    /// Deletes all records, pictures, tags and albums. Call this within `LFSManager.reset(_:alongside:)`, so that it
    /// deletes no file on the storage and no row on other devices.
    ///
    /// - Throws: The database's error.
    public static func eraseAll(_ db: Database) throws { try JournalSchema.eraseAll(db) }
}

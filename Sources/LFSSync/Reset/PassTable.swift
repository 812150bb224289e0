import GRDB
import LFSWire

/// `lfs_sync_pass`, `lfs_sync_mark`: types that come whole, and what of them has come. Only a table that has rows when
/// its pass begins is marked and swept: an empty one has nothing to lose.
enum PassTable {
    static func begin(_ place: SyncToken.Place, _ table: SyncedTable, _ db: Database) throws {
        let rows = "SELECT EXISTS (SELECT 1 FROM \(table.name.quotedDatabaseIdentifier))"
        guard try Bool.fetchOne(db.cachedStatement(sql: rows)) == true else { return }
        try db.cachedStatement(
            sql: """
                INSERT INTO lfs_sync_pass (type, scope, tableName) VALUES (?, ?, ?)
                ON CONFLICT (type, scope) DO UPDATE SET isDone = 0
                """
        ).execute(arguments: [place.type.description, place.scope.description, table.name])
        try forgetMarks(table.name, place.scope, db)
    }

    static func isUnderWay(_ place: SyncToken.Place, _ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM lfs_sync_pass WHERE type = ? AND scope = ?)"
        return try Bool.fetchOne(
            db.cachedStatement(sql: sql), arguments: [place.type.description, place.scope.description]) == true
    }

    static func mark(_ table: String, _ key: String, in scope: SyncScope, _ db: Database) throws {
        let sql = "INSERT INTO lfs_sync_mark (tableName, scope, key) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        try db.cachedStatement(sql: sql).execute(arguments: [table, scope.description, key])
    }

    static func isMarked(_ table: String, _ key: String, in scope: SyncScope, _ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM lfs_sync_mark WHERE tableName = ? AND scope = ? AND key = ?)"
        return try Bool.fetchOne(
            db.cachedStatement(sql: sql), arguments: [table, scope.description, key]) == true
    }

    /// Its last row has come.
    static func end(_ place: SyncToken.Place, _ db: Database) throws {
        try db.cachedStatement(sql: "UPDATE lfs_sync_pass SET isDone = 1 WHERE type = ? AND scope = ?").execute(
            arguments: [place.type.description, place.scope.description])
    }

    /// The last row of all of them has come: of one that was cut after that row was acknowledged, nothing is left to
    /// come, not even its end.
    static func endAll(_ db: Database) throws {
        try db.cachedStatement(sql: "UPDATE lfs_sync_pass SET isDone = 1 WHERE isDone = 0").execute()
    }

    /// Whether the end of one is still to come.
    static func isAnyUnderWay(_ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM lfs_sync_pass WHERE isDone = 0)"
        return try Bool.fetchOne(db.cachedStatement(sql: sql)) == true
    }

    /// The tables of the passes that are through, each with its scope.
    static func done(_ db: Database) throws -> [(table: String, scope: SyncScope)] {
        try Row.fetchAll(db.cachedStatement(sql: "SELECT tableName, scope FROM lfs_sync_pass WHERE isDone = 1"))
            .compactMap { row in
                SyncScope(row[1] as String).map { (row[0], $0) }
            }
    }

    /// What was here before is dealt with.
    static func remove(_ table: String, _ scope: SyncScope, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM lfs_sync_pass WHERE tableName = ? AND scope = ?").execute(arguments: [
            table, scope.description,
        ])
        try forgetMarks(table, scope, db)
    }

    static func removeAll(of scope: SyncScope, _ db: Database) throws {
        for table in ["lfs_sync_pass", "lfs_sync_mark"] {
            try db.cachedStatement(sql: "DELETE FROM \(table) WHERE scope = ?").execute(arguments: [scope.description])
        }
    }

    static func removeAll(_ db: Database) throws {
        for table in ["lfs_sync_pass", "lfs_sync_mark"] {
            try db.cachedStatement(sql: "DELETE FROM \(table)").execute()
        }
    }

    private static func forgetMarks(_ table: String, _ scope: SyncScope, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM lfs_sync_mark WHERE tableName = ? AND scope = ?").execute(arguments: [
            table, scope.description,
        ])
    }
}

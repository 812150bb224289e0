import GRDB
import LFSWire

/// The tables `lfs_sync_pass` and `lfs_sync_mark` of full resyncs and the rows that they have brought. A table is
/// marked and swept only if it has rows when its full resync begins. An empty table has nothing to lose.
enum FullResyncTable {
    static func begin(_ place: SyncToken.Place, table: SyncedTable, _ db: Database) throws {
        let rows = "SELECT EXISTS (SELECT 1 FROM \(table.name.quotedDatabaseIdentifier))"
        guard try Bool.fetchOne(db.cachedStatement(sql: rows)) == true else { return }
        try db.cachedStatement(
            sql: """
                INSERT INTO lfs_sync_pass (type, scope, tableName) VALUES (?, ?, ?)
                ON CONFLICT (type, scope) DO UPDATE SET isDone = 0
                """
        ).execute(arguments: [place.type.description, place.scope.description, table.name])
        try forgetMarks(table.name, scope: place.scope, db)
    }

    static func isUnderWay(_ place: SyncToken.Place, _ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM lfs_sync_pass WHERE type = ? AND scope = ?)"
        return try Bool.fetchOne(
            db.cachedStatement(sql: sql), arguments: [place.type.description, place.scope.description]) == true
    }

    static func mark(_ table: String, key: String, in scope: SyncScope, _ db: Database) throws {
        let sql = "INSERT INTO lfs_sync_mark (tableName, scope, key) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        try db.cachedStatement(sql: sql).execute(arguments: [table, scope.description, key])
    }

    static func isMarked(_ table: String, key: String, in scope: SyncScope, _ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM lfs_sync_mark WHERE tableName = ? AND scope = ? AND key = ?)"
        return try Bool.fetchOne(
            db.cachedStatement(sql: sql), arguments: [table, scope.description, key]) == true
    }

    /// Records that the last row of a full resync has arrived.
    static func end(_ place: SyncToken.Place, _ db: Database) throws {
        try db.cachedStatement(sql: "UPDATE lfs_sync_pass SET isDone = 1 WHERE type = ? AND scope = ?").execute(
            arguments: [place.type.description, place.scope.description])
    }

    /// Records that the last rows of all full resyncs have arrived. If an earlier stream was cut after its last row was
    /// acknowledged, nothing more arrives for it, not even its end.
    static func endAll(_ db: Database) throws {
        try db.cachedStatement(sql: "UPDATE lfs_sync_pass SET isDone = 1 WHERE isDone = 0").execute()
    }

    /// Returns true if the end of a full resync is still to come. If the server is older than this device, full resyncs
    /// for which nothing has arrived begin at the end of the stream.
    static func isAnyUnderWay(_ db: Database) throws -> Bool {
        let sql = """
            SELECT EXISTS (SELECT 1 FROM lfs_sync_pass WHERE isDone = 0)
                OR EXISTS (SELECT 1 FROM lfs_sync_state WHERE keepsAll = 1)
            """
        return try Bool.fetchOne(db.cachedStatement(sql: sql)) == true
    }

    /// Returns the tables and scopes whose full resync has ended.
    static func done(_ db: Database) throws -> [(table: String, scope: SyncScope)] {
        try Row.fetchAll(db.cachedStatement(sql: "SELECT tableName, scope FROM lfs_sync_pass WHERE isDone = 1"))
            .compactMap { row in
                SyncScope(row[1] as String).map { (row[0], $0) }
            }
    }

    /// Removes a full resync after its old rows were processed.
    static func remove(_ table: String, scope: SyncScope, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM lfs_sync_pass WHERE tableName = ? AND scope = ?").execute(arguments: [
            table, scope.description,
        ])
        try forgetMarks(table, scope: scope, db)
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

    private static func forgetMarks(_ table: String, scope: SyncScope, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM lfs_sync_mark WHERE tableName = ? AND scope = ?").execute(arguments: [
            table, scope.description,
        ])
    }
}

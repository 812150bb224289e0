import GRDB
import LFSWire

/// The table `lfs_sync_member` of rows that scopes of other accounts supply. A row in no such scope is the account's
/// own.
enum MemberTable {
    static func isEmpty(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM lfs_sync_member)")) == false
    }

    /// Returns the scopes that supply rows, sorted.
    static func scopes(_ db: Database) throws -> [SyncScope] {
        try String.fetchAll(db.cachedStatement(sql: "SELECT DISTINCT scope FROM lfs_sync_member ORDER BY scope"))
            .compactMap {
                SyncScope($0)
            }
    }

    static func contains(_ table: String, key: String, _ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM lfs_sync_member WHERE tableName = ? AND key = ?)"
        return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [table, key]) == true
    }

    /// Returns a query for one of the scopes that supply a row. It finds none for a row of the account's own.
    ///
    /// - Parameter key: an SQL expression for the row's id.
    static func scope(_ table: String, key: String) -> String {
        "SELECT scope FROM lfs_sync_member WHERE tableName = '\(table)' AND key = \(key) LIMIT 1"
    }

    static func add(_ table: String, key: String, to scope: SyncScope, _ db: Database) throws {
        let sql = "INSERT INTO lfs_sync_member (tableName, key, scope) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        try db.cachedStatement(sql: sql).execute(arguments: [table, key, scope.description])
    }

    /// Removes a row from a scope.
    ///
    /// - Returns: true if that was the last scope that supplied the row.
    static func remove(_ table: String, key: String, from scope: SyncScope, _ db: Database) throws -> Bool {
        let sql = "DELETE FROM lfs_sync_member WHERE tableName = ? AND key = ? AND scope = ?"
        try db.cachedStatement(sql: sql).execute(arguments: [table, key, scope.description])
        guard db.changesCount > 0 else { return false }
        return try !contains(table, key: key, db)
    }

    /// Makes a row the account's own.
    static func own(_ table: String, key: String, _ db: Database) throws {
        let sql = "DELETE FROM lfs_sync_member WHERE tableName = ? AND key = ?"
        try db.cachedStatement(sql: sql).execute(arguments: [table, key])
    }

    /// Returns a page of the ids that a scope supplies for a table.
    static func keys(
        of table: String, in scope: SyncScope, after key: String, limit: Int, _ db: Database
    ) throws -> [String] {
        let sql = """
            SELECT key FROM lfs_sync_member WHERE scope = ? AND tableName = ? AND key > ? ORDER BY key LIMIT ?
            """
        return try String.fetchAll(db.cachedStatement(sql: sql), arguments: [scope.description, table, key, limit])
    }
}

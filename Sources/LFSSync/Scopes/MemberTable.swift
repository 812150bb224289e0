import GRDB
import LFSWire

/// `lfs_sync_member`: which scopes of others give a row. A row that is in none is the account's own.
enum MemberTable {
    static func isEmpty(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM lfs_sync_member)")) == false
    }

    /// Those that give rows, in their order.
    static func scopes(_ db: Database) throws -> [SyncScope] {
        try String.fetchAll(db.cachedStatement(sql: "SELECT DISTINCT scope FROM lfs_sync_member ORDER BY scope"))
            .compactMap {
                SyncScope($0)
            }
    }

    static func contains(_ table: String, _ key: String, _ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM lfs_sync_member WHERE tableName = ? AND key = ?)"
        return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [table, key]) == true
    }

    /// A query for one of the scopes that give a row; nothing for one of the account's own.
    ///
    /// - Parameter key: what has the row's id, in SQL.
    static func scope(_ table: String, _ key: String) -> String {
        "SELECT scope FROM lfs_sync_member WHERE tableName = '\(table)' AND key = \(key) LIMIT 1"
    }

    static func add(_ table: String, _ key: String, to scope: SyncScope, _ db: Database) throws {
        let sql = "INSERT INTO lfs_sync_member (tableName, key, scope) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        try db.cachedStatement(sql: sql).execute(arguments: [table, key, scope.description])
    }

    /// Takes a row out of a scope.
    ///
    /// - Returns: whether that was the last scope that gave it.
    static func remove(_ table: String, _ key: String, from scope: SyncScope, _ db: Database) throws -> Bool {
        let sql = "DELETE FROM lfs_sync_member WHERE tableName = ? AND key = ? AND scope = ?"
        try db.cachedStatement(sql: sql).execute(arguments: [table, key, scope.description])
        guard db.changesCount > 0 else { return false }
        return try !contains(table, key, db)
    }

    /// The row is the account's own from now on.
    static func own(_ table: String, _ key: String, _ db: Database) throws {
        let sql = "DELETE FROM lfs_sync_member WHERE tableName = ? AND key = ?"
        try db.cachedStatement(sql: sql).execute(arguments: [table, key])
    }

    /// What a scope gives of a table, a page at a time.
    static func keys(
        of table: String, in scope: SyncScope, after key: String, limit: Int, _ db: Database
    ) throws -> [String] {
        let sql = """
            SELECT key FROM lfs_sync_member WHERE scope = ? AND tableName = ? AND key > ? ORDER BY key LIMIT ?
            """
        return try String.fetchAll(db.cachedStatement(sql: sql), arguments: [scope.description, table, key, limit])
    }
}

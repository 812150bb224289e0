import GRDB
import GRDBSQLite
import LFSWire

/// The table `lfs_sync_parked` of received rows that cannot be applied yet. A parked row does not block the others.
enum ParkedTable {
    struct Entry {
        let table: String
        let scope: String
        let key: String
        /// The row, or nil for a deletion.
        let row: SyncRow?
        /// The position of the line that brought the row, or the start if no line did.
        var position = SyncPosition.start
    }

    /// Parks a row. A newer version replaces an older one.
    static func park(_ entry: Entry, reason: any Error, _ db: Database) throws {
        var bytes: [UInt8] = []
        entry.row?.write(to: &bytes)
        try db.cachedStatement(
            sql: """
                INSERT INTO lfs_sync_parked (tableName, scope, key, row, position, reason) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT (tableName, scope, key)
                DO UPDATE SET row = excluded.row, position = excluded.position, reason = excluded.reason
                """
        ).execute(arguments: [
            entry.table, entry.scope, entry.key, String(decoding: bytes, as: UTF8.self), entry.position.text,
            "\(reason)",
        ])
    }

    /// Applies a change of a row, all or nothing.
    ///
    /// - Parameter leavesOpen: whether a deferred foreign key may refer to a missing row afterwards.
    /// - Returns: the reason why the change cannot be applied, if the row is to blame. Nil if the change was applied.
    static func refusal(
        _ db: Database, leavesOpen: Bool = false, _ body: () throws -> Void
    ) throws -> (any Error)? {
        do {
            let wasOpen = leavesOpen || db.hasOpenReferences
            try db.inSavepoint {
                try body()
                // The commit would fail, and all rows of the transaction with it.
                if !wasOpen, db.hasOpenReferences { throw RowProblem.openReference }
                return .commit
            }
            return nil
        } catch let error where error.isOfRow {
            return error
        }
    }

    /// Applies a change as ``refusal(_:leavesOpen:_:)`` does, and parks the row if that fails.
    ///
    /// - Returns: true if the change was applied.
    static func orPark(_ entry: Entry, _ db: Database, _ body: () throws -> Void) throws -> Bool {
        guard let reason = try refusal(db, body) else { return true }
        try park(entry, reason: reason, db)
        return false
    }

    /// Returns an SQL condition that is true if a scope's version of a row is parked.
    ///
    /// - Parameters:
    ///   - scope: an SQL expression for the scope.
    ///   - key: an SQL expression for the row's id.
    static func contains(_ table: String, scope: String, key: String) -> String {
        "EXISTS (SELECT 1 FROM lfs_sync_parked p "
            + "WHERE p.tableName = '\(table)' AND p.scope = \(scope) AND p.key = \(key))"
    }

    /// Returns true if another account's version of a row is parked.
    static func containsForeign(_ table: String, key: String, _ db: Database) throws -> Bool {
        let sql = """
            SELECT EXISTS (SELECT 1 FROM lfs_sync_parked
                WHERE tableName = ? AND key = ? AND scope <> (SELECT account FROM lfs_sync_state))
            """
        return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [table, key]) == true
    }

    static func remove(_ table: String, scope: String, key: String, _ db: Database) throws {
        let sql = "DELETE FROM lfs_sync_parked WHERE tableName = ? AND scope = ? AND key = ?"
        try db.cachedStatement(sql: sql).execute(arguments: [table, scope, key])
    }

    static func removeAll(of scope: SyncScope, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM lfs_sync_parked WHERE scope = ?").execute(arguments: [
            scope.description
        ])
    }

    static func isEmpty(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM lfs_sync_parked)")) == false
    }

    static func count(_ db: Database) throws -> Int {
        try Int.fetchOne(db.cachedStatement(sql: "SELECT count(*) FROM lfs_sync_parked")) ?? 0
    }

    static func newest(_ limit: Int, _ db: Database) throws -> [SyncProblem] {
        let sql = "SELECT tableName, key, reason FROM lfs_sync_parked ORDER BY rowid DESC LIMIT ?"
        return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [limit]).map {
            SyncProblem(kind: .parked, table: $0[0], id: $0[1], reason: $0[2])
        }
    }

    /// Returns the next parked rows of a table, at most 500 and about 1 MiB. An empty page marks the end.
    static func page(_ table: String, after rowID: Int64, _ db: Database) throws -> [(rowID: Int64, entry: Entry)] {
        let sql = "SELECT rowid, * FROM lfs_sync_parked WHERE tableName = ? AND rowid > ? ORDER BY rowid LIMIT 500"
        let cursor = try Row.fetchCursor(db, sql: sql, arguments: [table, rowID])
        return try withExtendedLifetime(cursor) {
            var page: [(rowID: Int64, entry: Entry)] = []
            var byteCount = 0
            while byteCount < 1 << 20, let found = try cursor.next() {
                byteCount += (found["row"] as String).utf8.count
                page.append((found["rowid"], try Entry(found)))
            }
            return page
        }
    }

    /// Returns a parked row, or nil if it no longer exists.
    static func entry(_ rowID: Int64, _ db: Database) throws -> Entry? {
        let sql = "SELECT * FROM lfs_sync_parked WHERE rowid = ?"
        return try Row.fetchOne(db.cachedStatement(sql: sql), arguments: [rowID]).map { try Entry($0) }
    }
}

extension ParkedTable.Entry {
    fileprivate init(_ found: Row) throws {
        table = found["tableName"]
        scope = found["scope"]
        key = found["key"]
        let text: String = found["row"]
        row =
            text.isEmpty
            ? nil
            : try StoredJSON.read(text, of: "lfs_sync_parked") { try SyncRow(&$0) }
        position = SyncPosition(found["position"] as String) ?? .start
    }
}

extension Database {
    /// True if a deferred foreign key currently refers to a missing row, so that a commit would fail.
    var hasOpenReferences: Bool {
        var (current, highest): (CInt, CInt) = (0, 0)
        sqlite3_db_status(sqliteConnection, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
        return current != 0
    }
}

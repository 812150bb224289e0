import GRDB
import GRDBSQLite
import LFSWire

/// `lfs_sync_parked`: rows that have come and cannot be applied yet. None of them stops the others.
enum ParkedTable {
    struct Entry {
        let table: String
        let scope: String
        let key: String
        /// nil for a deletion.
        let row: SyncRow?
        /// Of the line that has brought it; the start where none has.
        var position = SyncPosition.start
    }

    /// Keeps a row; a newer one takes its place.
    static func park(_ entry: Entry, _ reason: any Error, _ db: Database) throws {
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

    /// Does something about a row, all or nothing.
    ///
    /// - Parameter leavesOpen: whether a deferred foreign key may point to nothing afterwards.
    /// - Returns: why it cannot be done, when the row is to blame; nil when it is done.
    static func refusal(
        _ db: Database, leavesOpen: Bool = false, _ body: () throws -> Void
    ) throws -> (any Error)? {
        do {
            let wasOpen = leavesOpen || db.hasOpenReferences
            try db.inSavepoint {
                try body()
                // The commit would fail, and all rows with it.
                if !wasOpen, db.hasOpenReferences { throw RowProblem.openReference }
                return .commit
            }
            return nil
        } catch let error where error.isOfRow {
            return error
        }
    }

    /// As ``refusal(_:_:)``, and parks the row.
    ///
    /// - Returns: whether it was done.
    static func orPark(_ entry: Entry, _ db: Database, _ body: () throws -> Void) throws -> Bool {
        guard let reason = try refusal(db, body) else { return true }
        try park(entry, reason, db)
        return false
    }

    /// A condition: whether what a scope has sent of a row waits here.
    ///
    /// - Parameters:
    ///   - scope: what has the scope, in SQL.
    ///   - key: what has the row's id, in SQL.
    static func contains(_ table: String, _ scope: String, _ key: String) -> String {
        "EXISTS (SELECT 1 FROM lfs_sync_parked p "
            + "WHERE p.tableName = '\(table)' AND p.scope = \(scope) AND p.key = \(key))"
    }

    static func remove(_ table: String, _ scope: String, _ key: String, _ db: Database) throws {
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

    /// Those of a table in pages, which have no more bytes than they need to; an empty one is the end.
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

    /// - Returns: nil when there is none any more.
    static func entry(_ rowID: Int64, _ db: Database) throws -> Entry? {
        let sql = "SELECT * FROM lfs_sync_parked WHERE rowid = ?"
        return try Row.fetchOne(db.cachedStatement(sql: sql), arguments: [rowID]).map { try Entry($0) }
    }
}

extension ParkedTable.Entry {
    fileprivate init(_ found: Row) throws {
        (table, scope, key) = (found["tableName"], found["scope"], found["key"])
        let text: String = found["row"]
        row =
            text.isEmpty
            ? nil
            : try Array(text.utf8).withUnsafeBytes { bytes in
                var scanner = JSONScanner(bytes)
                return try SyncRow(&scanner)
            }
        position = SyncPosition(found["position"] as String) ?? .start
    }
}

extension Database {
    /// Whether a deferred foreign key points to nothing now, so that a commit would fail.
    var hasOpenReferences: Bool {
        var (current, highest): (CInt, CInt) = (0, 0)
        sqlite3_db_status(sqliteConnection, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
        return current != 0
    }
}

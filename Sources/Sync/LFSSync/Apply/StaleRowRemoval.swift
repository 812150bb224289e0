import GRDB
import LFSDatabase
import LFSWire

/// The cleanup after a full resync. It deletes rows that the resync did not send again, one page per transaction, child
/// tables first. Rows with a pending or refused change stay, because the server may not know them yet. If the server is
/// older than this device, nothing is deleted, and rows that the server lacks are queued.
struct StaleRowRemoval: Sendable {
    /// The synced tables, parents first.
    let tables: [SyncedTable]
    static let pageSize = 500

    /// The position where the next page begins.
    struct Cursor: Sendable {
        let table: String
        let scope: SyncScope
        var after = ""
    }

    /// Processes one page.
    ///
    /// - Parameter cursor: the result of the previous page, or nil for the first page.
    /// - Returns: the start of the next page, or nil at the end.
    func step(_ cursor: Cursor?, _ db: Database) throws -> Cursor? {
        guard var cursor = try cursor ?? next(db) else { return nil }
        let row = try Row.fetchOne(db.cachedStatement(sql: "SELECT account, keepsAll FROM lfs_sync_state"))
        let isOwn = cursor.scope.description == row?["account"] as String?
        let keeps: Bool = row?["keepsAll"] ?? false
        guard let table = tables.first(where: { $0.name == cursor.table }) else {
            return try end(cursor, db)
        }
        let keys =
            try isOwn
            ? ownKeys(of: table, after: cursor.after, db)
            : MemberTable.keys(
                of: table.name, in: cursor.scope, after: cursor.after, limit: Self.pageSize, db)
        let rows = RowApply(table: table)
        try StateTable.applying(db) {
            for key in keys where try !FullResyncTable.isMarked(table.name, key: key, in: cursor.scope, db) {
                if isOwn {
                    // No server accepts such an id, so the row cannot come from one.
                    guard SyncScope.isID(key) else { continue }
                    guard try !MemberTable.contains(table.name, key: key, db),
                        try !Outbox.knows(table.name, key: key, db)
                    else {
                        continue
                    }
                    if keeps {
                        try Outbox.addMissing(table.name, key: key, db)
                        continue
                    }
                }
                let entry = ParkedTable.Entry(table: table.name, scope: cursor.scope.description, key: key, row: nil)
                _ = try ParkedTable.orPark(entry, db) {
                    guard try isOwn || MemberTable.remove(table.name, key: key, from: cursor.scope, db) else { return }
                    _ = try rows.delete(key, at: .start, db)
                }
            }
        }
        if let last = keys.last, keys.count == Self.pageSize {
            cursor.after = last
            return cursor
        }
        return try end(cursor, db)
    }

    /// Removes a full resync whose old rows were processed.
    ///
    /// - Returns: the start of the next one, or nil after the last one.
    private func end(_ cursor: Cursor, _ db: Database) throws -> Cursor? {
        try FullResyncTable.remove(cursor.table, scope: cursor.scope, db)
        if let next = try next(db) { return next }
        try SyncCheckpoints.endKeeping(db)
        return nil
    }

    private func next(_ db: Database) throws -> Cursor? {
        let done = try FullResyncTable.done(db)
        let names = tables.map(\.name)
        // Tables that are no longer synced come first.
        let found = done.max { (names.firstIndex(of: $0.table) ?? .max) < (names.firstIndex(of: $1.table) ?? .max) }
        return found.map { Cursor(table: $0.table, scope: $0.scope) }
    }

    private func ownKeys(of table: SyncedTable, after key: String, _ db: Database) throws -> [String] {
        let sql = """
            SELECT id FROM \(table.name.quotedDatabaseIdentifier) WHERE id > ? AND typeof(id) = 'text'
            ORDER BY id LIMIT \(Self.pageSize)
            """
        return try String.fetchAll(db.cachedStatement(sql: sql), arguments: [key])
    }
}

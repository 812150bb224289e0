import GRDB
import LFSDatabase
import LFSWire

/// After a pass: what was here before and did not come goes, a page in each transaction, children first. What the
/// server may not know yet stays: rows whose change waits or was refused. Where the server is older than this device,
/// nothing goes, and what it lacks is queued.
struct Sweep: Sendable {
    /// Parents first.
    let tables: [SyncedTable]
    static let pageSize = 500

    /// Where the next page begins.
    struct Cursor: Sendable {
        let table: String
        let scope: SyncScope
        var after = ""
    }

    /// Works on one page.
    ///
    /// - Parameter cursor: what the page before returned; nil for the first one.
    /// - Returns: where the next page begins; nil at the end.
    func step(_ cursor: Cursor?, _ db: Database) throws -> Cursor? {
        guard var cursor = try cursor ?? next(db) else { return nil }
        let row = try Row.fetchOne(db.cachedStatement(sql: "SELECT account, keepsAll FROM lfs_sync_state"))
        let isOwn = cursor.scope.description == row?["account"] as String?
        let keeps: Bool = row?["keepsAll"] ?? false
        guard let table = tables.first(where: { $0.name == cursor.table }) else {
            try PassTable.remove(cursor.table, cursor.scope, db)
            return try next(db)
        }
        let keys =
            try isOwn
            ? ownKeys(of: table, after: cursor.after, db)
            : MemberTable.keys(
                of: table.name, in: cursor.scope, after: cursor.after, limit: Self.pageSize, db)
        let rows = RowApply(table: table)
        try StateTable.applying(db) {
            for key in keys where try !PassTable.isMarked(table.name, key, in: cursor.scope, db) {
                if isOwn {
                    // What no server can have never came from one.
                    guard SyncScope.isID(key) else { continue }
                    guard try !MemberTable.contains(table.name, key, db), try !Outbox.knows(table.name, key, db) else {
                        continue
                    }
                    if keeps {
                        try Outbox.addMissing(table.name, key, db)
                        continue
                    }
                }
                let entry = ParkedTable.Entry(table: table.name, scope: cursor.scope.description, key: key, row: nil)
                _ = try ParkedTable.orPark(entry, db) {
                    guard try isOwn || MemberTable.remove(table.name, key, from: cursor.scope, db) else { return }
                    _ = try rows.delete(key, at: .start, db)
                }
            }
        }
        if let last = keys.last, keys.count == Self.pageSize {
            cursor.after = last
            return cursor
        }
        try PassTable.remove(table.name, cursor.scope, db)
        guard let next = try next(db) else {
            try db.cachedStatement(sql: "UPDATE lfs_sync_state SET keepsAll = 0").execute()
            return nil
        }
        return next
    }

    private func next(_ db: Database) throws -> Cursor? {
        let done = try PassTable.done(db)
        let names = tables.map(\.name)
        // Those of tables that nobody shares any more come first.
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

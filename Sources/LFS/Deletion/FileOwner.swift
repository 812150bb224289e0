import GRDB

/// A column of a table of the host whose rows own the files that they refer to.
///
/// Its triggers do not delete: they note in `lfs_disowned` which files a row has let go of, and after the commit those
/// are deleted that nothing refers to. Within a statement it could not be told: `INSERT OR REPLACE` removes the old row
/// before the new one with the same file is there, and with `recursive_triggers` its delete triggers fire between.
struct FileOwner: Sendable {
    let table: String
    let column: String

    // MARK: Making

    /// Makes the triggers, or makes them anew for the columns and unique indexes that the table has now.
    ///
    /// - Throws: ``LFSError/Code/unsuitableOwner``.
    func install(_ db: Database) throws {
        let keys = try UniqueKey.all(of: table, db)
        guard try db.columns(in: table).contains(where: { $0.name.lowercased() == column.lowercased() }) else {
            throw LFSError(.unsuitableOwner, "The table '\(table)' has no column '\(column)'.")
        }
        try remove(db)
        if try !hasIndex(db) {
            try db.execute(sql: "CREATE INDEX \(prefix.quotedDatabaseIdentifier) ON \(quotedTable)(\(quotedColumn))")
        }
        for trigger in triggers(keys) { try db.execute(sql: trigger) }
        try db.execute(
            sql: "INSERT INTO lfs_owner (triggers, tableName, columnName) VALUES (?, ?, ?)",
            arguments: [prefix, table, column])
    }

    /// Takes the triggers away. The files stay, and are no longer deleted with their owners.
    func remove(_ db: Database) throws {
        for name in triggerNames { try db.execute(sql: "DROP TRIGGER IF EXISTS \(name.quotedDatabaseIdentifier)") }
        try db.execute(sql: "DROP INDEX IF EXISTS \(prefix.quotedDatabaseIdentifier)")
        try db.execute(sql: "DELETE FROM lfs_owner WHERE triggers = ?", arguments: [prefix])
    }

    private var prefix: String { "lfs_owner_\(table)_\(column)" }
    private var quotedTable: String { table.quotedDatabaseIdentifier }
    private var quotedColumn: String { column.quotedDatabaseIdentifier }
    private var triggerNames: [String] {
        ["deleted", "changed", "replacing", "replacing_by_update"].map { "\(prefix)_\($0)" }
    }

    private func hasIndex(_ db: Database) throws -> Bool {
        try db.indexes(on: table).contains { $0.columns.first?.lowercased() == column.lowercased() }
    }

    private func triggers(_ keys: [UniqueKey]) -> [String] {
        let names = triggerNames.map(\.quotedDatabaseIdentifier)
        let note = "INSERT INTO lfs_disowned (fileID)"
        let isNew = "NOT EXISTS (SELECT 1 FROM lfs_disowned WHERE fileID = file)"
        let old = "\(note) SELECT file FROM (SELECT OLD.\(quotedColumn) AS file) WHERE file IS NOT NULL AND \(isNew);"
        let replaced = keys.map { "(\($0.condition))" }.joined(separator: " OR ")
        func noteReplaced(_ more: String = "") -> String {
            """
            \(note) SELECT file FROM (
                SELECT DISTINCT \(quotedColumn) AS file FROM \(quotedTable) WHERE (\(replaced))\(more))
            WHERE file IS NOT NULL AND \(isNew);
            """
        }
        // A row that keeps its key replaces none, so most updates cost nothing.
        let isMoved = keys.map { "NOT (\($0.keeps))" }.joined(separator: " OR ")
        return [
            "CREATE TRIGGER \(names[0]) AFTER DELETE ON \(quotedTable) BEGIN \(old) END",
            """
            CREATE TRIGGER \(names[1]) AFTER UPDATE OF \(quotedColumn) ON \(quotedTable)
            WHEN OLD.\(quotedColumn) IS NOT NEW.\(quotedColumn) BEGIN \(old) END
            """,
            "CREATE TRIGGER \(names[2]) BEFORE INSERT ON \(quotedTable) BEGIN \(noteReplaced()) END",
            "CREATE TRIGGER \(names[3]) BEFORE UPDATE ON \(quotedTable) WHEN \(isMoved) BEGIN \(noteReplaced()) END",
        ]
    }

    // MARK: Reading

    /// All owners, under the names that their tables have now.
    ///
    /// - Throws: ``LFSError/Code/unsuitableOwner`` when a table was made anew without its triggers: what its rows refer
    ///   to could not be told from what nobody wants.
    static func all(_ db: Database) throws -> [FileOwner] {
        try Row.fetchAll(db, sql: "SELECT triggers, tableName, columnName FROM lfs_owner").compactMap { row in
            let (prefix, column): (String, String) = (row["triggers"], row["columnName"])
            // SQLite keeps a trigger with its table when that is renamed, and drops both together.
            let current = try String.fetchOne(
                db, sql: "SELECT tbl_name FROM sqlite_master WHERE type = 'trigger' AND name = ?",
                arguments: ["\(prefix)_deleted"])
            let table = current ?? row["tableName"]
            let exists = try db.tableExists(table)
            if current == nil, !exists { return nil }
            guard current != nil, try db.columns(in: table).contains(where: { $0.name.lowercased() == column.lowercased() }) else {
                throw LFSError(
                    .unsuitableOwner,
                    "The table '\(table)' was made anew, or its column '\(column)' renamed, without the triggers of LFS. Call FileData.deletedWithOwner again in that migration."
                )
            }
            return FileOwner(table: table, column: column)
        }
    }
}

/// What a row of a table may share with no other: a unique index, or the row id.
struct UniqueKey: Sendable {
    private struct Part {
        var column: String
        var collation: String?
    }

    private let parts: [Part]

    /// Whether a row of the table has the key of `NEW`. In a trigger only.
    var condition: String {
        parts.map { part in
            let collation = part.collation.map { " COLLATE \($0.quotedDatabaseIdentifier)" } ?? ""
            return "\(part.column) = NEW.\(part.column)\(collation)"
        }.joined(separator: " AND ")
    }

    /// Whether `NEW` has the key of `OLD`. In a trigger only.
    var keeps: String { parts.map { "OLD.\($0.column) IS NEW.\($0.column)" }.joined(separator: " AND ") }

    /// - Throws: ``LFSError/Code/unsuitableOwner`` for a unique index whose replaced rows cannot be found.
    static func all(of table: String, _ db: Database) throws -> [UniqueKey] {
        guard try db.tableExists(table) else {
            throw LFSError(.unsuitableOwner, "There is no table '\(table)'. Create it before it becomes an owner.")
        }
        var keys: [UniqueKey] = []
        let hasRowID = try Bool.fetchOne(
            db, sql: "SELECT NOT wr FROM pragma_table_list WHERE schema = 'main' AND lower(name) = lower(?)",
            arguments: [table])
        if hasRowID == true { keys.append(UniqueKey(parts: [Part(column: "rowid")])) }
        let indexes = try String.fetchAll(
            db, sql: "SELECT name FROM pragma_index_list(?) WHERE \"unique\" = 1", arguments: [table])
        for index in indexes {
            let columns = try Row.fetchAll(
                db, sql: "SELECT name, coll FROM pragma_index_xinfo(?) WHERE key = 1 ORDER BY seqno", arguments: [index])
            let parts = columns.compactMap { row -> Part? in
                let name: String? = row["name"]
                return name.map { Part(column: $0.quotedDatabaseIdentifier, collation: row["coll"]) }
            }
            // Fewer columns match more rows, which is safe; none would match all of them.
            guard !parts.isEmpty else {
                throw LFSError(
                    .unsuitableOwner,
                    "The unique index '\(index)' of '\(table)' has no plain column, so the rows that an INSERT OR REPLACE removes by it cannot be found."
                )
            }
            keys.append(UniqueKey(parts: parts))
        }
        return keys
    }
}

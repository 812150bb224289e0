import GRDB

/// The unique keys of a table: its row id, its primary key and its unique indexes. They determine which rows an `INSERT
/// OR REPLACE` removes.
struct UniqueKeys: Sendable {
    private struct Key {
        var parts: [Part]
        /// True if the key consists of columns only: the index has neither an expression nor a `WHERE` clause.
        var isPlain: Bool
    }

    private struct Part {
        var column: String
        var collation: String?

        /// Returns the comparison in SQL. `COLLATE` comes last, where it applies to both sides.
        func compared(_ left: String, comparison: String) -> String {
            "\(left)\(column) \(comparison) NEW.\(column)" + (collation.map { " COLLATE \($0)" } ?? "")
        }
    }

    private let keys: [Key]
    /// The name of the table's row id, or nil if the table has none.
    let rowID: String?

    /// An SQL condition for a trigger: true if a row of the table shares a unique key with `NEW`, which may therefore
    /// replace it.
    var condition: String {
        keys.map { key in "(" + key.parts.map { $0.compared("", comparison: "=") }.joined(separator: " AND ") + ")" }
            .joined(separator: " OR ")
    }

    /// An SQL condition for a trigger: true if a unique key may differ between `NEW` and `OLD`. An update without such
    /// a change, as most are, replaces no row.
    var mayMove: String {
        guard keys.allSatisfy(\.isPlain) else { return "1" }
        return keys.map { key in
            "NOT (" + key.parts.map { $0.compared("OLD.", comparison: "IS") }.joined(separator: " AND ") + ")"
        }.joined(separator: " OR ")
    }

    /// - Throws: ``TableError/Code/unsuitableOwner`` for a unique index whose replaced rows cannot be found.
    init(of table: String, _ db: Database) throws {
        guard try db.tableExists(table, in: "main") else {
            throw TableError(
                .unsuitableOwner, message: "There is no table '\(table)'. Create it before it becomes an owner.")
        }
        var keys: [Key] = []
        rowID = try Self.rowID(of: table, db)
        if let rowID { keys.append(Key(parts: [Part(column: rowID)], isPlain: true)) }
        let indexes = try Row.fetchAll(
            db, sql: "SELECT name, partial FROM pragma_index_list(?, 'main') WHERE \"unique\" = 1", arguments: [table])
        for index in indexes {
            let (name, isPartial): (String, Bool) = (index["name"], index["partial"])
            let columns = try Row.fetchAll(
                db, sql: "SELECT name, coll FROM pragma_index_xinfo(?, 'main') WHERE key = 1 ORDER BY seqno",
                arguments: [name])
            let parts = columns.compactMap { row -> Part? in
                let (column, collation): (String?, String?) = (row["name"], row["coll"])
                return column.map {
                    Part(
                        column: $0.quotedDatabaseIdentifier, collation: collation.map(\.quotedDatabaseIdentifier))
                }
            }
            // Expressions of the index are left out. The remaining columns match more rows than the index does. That is
            // harmless, because each recorded file is checked later. Without any column, all rows would match.
            guard !parts.isEmpty else {
                throw TableError(
                    .unsuitableOwner,
                    message: """
                        The unique index '\(name)' of '\(table)' has no plain column, so LFS cannot find the rows that \
                        an INSERT OR REPLACE removes because of it.
                        """
                )
            }
            keys.append(Key(parts: parts, isPlain: !isPartial && parts.count == columns.count))
        }
        self.keys = keys
    }

    private static func rowID(of table: String, _ db: Database) throws -> String? {
        let hasRowID = try Bool.fetchOne(
            db, sql: "SELECT NOT wr FROM pragma_table_list WHERE schema = 'main' AND lower(name) = lower(?)",
            arguments: [table])
        guard hasRowID == true else { return nil }
        // A column of the host may use one of the names (rowidtable.html).
        let columns = try db.columns(in: table, in: "main").map(\.name)
        let free = ["rowid", "_rowid_", "oid"].first { name in !columns.contains { $0.isSameName(as: name) } }
        guard let free else {
            throw TableError(
                .unsuitableOwner, message: "The columns of '\(table)' use all names of its row id. Rename one of them.")
        }
        return free
    }
}

import GRDB

/// The unique keys of a table: its row id, its primary key and its unique indexes. By them `INSERT OR REPLACE` decides
/// which rows it removes.
struct UniqueKeys: Sendable {
    private struct Key {
        var parts: [Part]
        /// Whether it is made of columns alone: the index has no expression and no `WHERE`.
        var isPlain: Bool
    }

    private struct Part {
        var column: String
        var collation: String?

        /// The comparison in SQL. `COLLATE` stands last, and holds for both sides there.
        func compared(_ left: String, _ comparison: String) -> String {
            "\(left)\(column) \(comparison) NEW.\(column)" + (collation.map { " COLLATE \($0)" } ?? "")
        }
    }

    private let keys: [Key]
    /// The name by which the table's row id can be had, nil where there is none.
    let rowID: String?

    /// An SQL condition, for a trigger: whether a row of the table has a unique key of `NEW`, and may be replaced by
    /// it.
    var condition: String {
        keys.map { key in "(" + key.parts.map { $0.compared("", "=") }.joined(separator: " AND ") + ")" }
            .joined(separator: " OR ")
    }

    /// An SQL condition, for a trigger: whether `NEW` may have another unique key than `OLD`. An update without such a
    /// change replaces no row, and most updates are of that kind.
    var mayMove: String {
        guard keys.allSatisfy(\.isPlain) else { return "1" }
        return keys.map { key in
            "NOT (" + key.parts.map { $0.compared("OLD.", "IS") }.joined(separator: " AND ") + ")"
        }.joined(separator: " OR ")
    }

    /// - Throws: ``TableError/Code/unsuitableOwner`` for a unique index whose replaced rows cannot be found.
    init(of table: String, _ db: Database) throws {
        guard try db.tableExists(table, in: "main") else {
            throw TableError(.unsuitableOwner, "There is no table '\(table)'. Create it before it becomes an owner.")
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
            // Expressions of the index are left out. The remaining columns match more rows than the index does, and a
            // file that is noted for too many rows is only looked at. Without any column all rows would match.
            guard !parts.isEmpty else {
                throw TableError(
                    .unsuitableOwner,
                    """
                    The unique index '\(name)' of '\(table)' has no plain column, so the rows that an INSERT OR \
                    REPLACE removes by it cannot be found.
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
        // A column of the host's may have taken one of the names (rowidtable.html).
        let columns = try db.columns(in: table, in: "main").map(\.name)
        let free = ["rowid", "_rowid_", "oid"].first { name in !columns.contains { $0.isSameName(as: name) } }
        guard let free else {
            throw TableError(
                .unsuitableOwner, "The columns of '\(table)' hide its row id under every name that it has.")
        }
        return free
    }
}

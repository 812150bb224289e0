import GRDB

/// What a row of a table may share with no other: the row id, the primary key, unique indexes.
struct UniqueKeys: Sendable {
    private struct Key {
        var parts: [Part]
        /// Whether the parts are all there is to it: no expression, and no condition.
        var isPlain: Bool
    }

    private struct Part {
        var column: String
        var collation: String?

        /// In the order of the operators of SQL: the collation belongs to what stands before it.
        func compared(_ left: String, _ comparison: String) -> String {
            "\(left)\(column) \(comparison) NEW.\(column)" + (collation.map { " COLLATE \($0)" } ?? "")
        }
    }

    private let keys: [Key]
    /// The name by which the table's row id can be had, nil where there is none.
    let rowID: String?

    /// Whether a row of the table may have to give way to `NEW`. In a trigger only.
    var condition: String {
        keys.map { key in "(" + key.parts.map { $0.compared("", "=") }.joined(separator: " AND ") + ")" }
            .joined(separator: " OR ")
    }

    /// Whether `NEW` may have a key that `OLD` has not, so that most updates cost nothing. In a trigger only.
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
            // Fewer columns match more rows, which is safe; none would match all of them.
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
            throw TableError(.unsuitableOwner, "The columns of '\(table)' hide its row id under every name that it has.")
        }
        return free
    }
}

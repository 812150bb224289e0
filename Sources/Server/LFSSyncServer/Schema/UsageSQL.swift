import LFSWire

/// The SQL that counts the rows and bytes of each scope of an account, in its row of `sync_scope`.
///
/// Triggers count every change, whichever statement makes it. SQLite counts in the statement that advances the scope.
/// PostgreSQL has one more trigger for each statement.
struct UsageSQL: Sendable {
    let table: CheckedSchema.Table
    let dialect: SQLDialect

    /// Returns SQL for the bytes of a row: its id, texts and blobs, and eight bytes for each number.
    func byteCount(of row: String) -> String {
        let numbers = table.table.columns.count { $0.kind.isNumber }
        let texts = table.table.columns.filter { !$0.kind.isNumber }.map { column in
            "coalesce(\(length("\(row).\(TableSQL.quoted(column.name))", kind: column.kind)), 0)"
        }
        return (["\(numbers * 8)", length("\(row).id", kind: .text)] + texts).joined(separator: " + ")
    }

    private func length(_ value: String, kind: SyncSchema.Column.Kind) -> String {
        switch dialect {
        case .sqlite: kind == .text ? "length(CAST(\(value) AS BLOB))" : "length(\(value))"
        case .postgres: "octet_length(\(value))::bigint"
        }
    }

    /// Returns SQL for the bytes of a file that a row declares. They come from a device, and are never negative.
    func fileBytes(of row: String) -> String {
        guard table.name == SyncType.fileTable else { return "0" }
        let declared = "\(row).\(TableSQL.quoted("byteCount"))"
        switch dialect {
        case .sqlite: return "max(0, min(\(declared), \(AccountLimit.largestValue)))"
        case .postgres: return "greatest(0, least(\(declared), \(AccountLimit.largestValue)))"
        }
    }

    // MARK: SQLite

    /// The assignments for a new row.
    var adding: String { assignments(rows: "+ 1", bytes: "+ \(sum("NEW"))", files: "+ \(fileBytes(of: "NEW"))") }

    /// The assignments for a deleted row.
    var removing: String { assignments(rows: "- 1", bytes: "- \(sum("OLD"))", files: "- \(fileBytes(of: "OLD"))") }

    /// The assignments for a changed row in its scope. In a new scope, the whole row counts.
    var changing: String {
        let isSame = "OLD.scopeID IS NEW.scopeID"
        return assignments(
            rows: "+ (OLD.scopeID IS NOT NEW.scopeID)",
            bytes: "+ \(sum("NEW")) - CASE WHEN \(isSame) THEN \(byteCount(of: "OLD")) ELSE 0 END",
            files: "+ \(fileBytes(of: "NEW")) - CASE WHEN \(isSame) THEN \(fileBytes(of: "OLD")) ELSE 0 END")
    }

    /// The assignments for a row that has left its scope, unless only its id has changed.
    var leaving: String {
        let hasLeft = "(OLD.scopeID IS NOT NEW.scopeID)"
        return assignments(
            rows: "- \(hasLeft)", bytes: "- \(hasLeft) * \(sum("OLD"))",
            files: "- \(hasLeft) * \(fileBytes(of: "OLD"))")
    }

    private func sum(_ row: String) -> String { "(\(byteCount(of: row)))" }

    private func assignments(rows: String, bytes: String, files: String) -> String {
        let all = ["rowCount = rowCount \(rows)", "rowBytes = rowBytes \(bytes)"]
        return (all + (table.name == SyncType.fileTable ? ["fileBytes = fileBytes \(files)"] : []))
            .joined(separator: ", ")
    }

    // MARK: PostgreSQL

    /// The statements that create the triggers on PostgreSQL, and the function that they call. The other triggers of a
    /// statement lock the scopes. These run after them, because of their names.
    var postgresTriggers: [String] {
        let (new, old) = (counted("new_rows", sign: ""), counted("old_rows", sign: "-"))
        let function = TableSQL.quoted("sync_\(table.name)_counted")
        let creation = """
            CREATE OR REPLACE FUNCTION \(function)() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
            BEGIN
                IF TG_OP = 'INSERT' THEN
                    \(count(new))
                ELSIF TG_OP = 'DELETE' THEN
                    \(count(old))
                ELSE
                    \(count("\(new) UNION ALL \(old)"))
                END IF;
                RETURN NULL;
            END $$
            """
        let (newRows, oldRows) = ("NEW TABLE AS new_rows", "OLD TABLE AS old_rows")
        let events = [("INSERT", newRows), ("UPDATE", "\(newRows) \(oldRows)"), ("DELETE", oldRows)]
        return [creation]
            + events.map { event, rows in
                PostgresTrigger.make(
                    "zz_sync_count_\(event.lowercased())", on: table.name, event: "AFTER \(event)",
                    rows: "REFERENCING \(rows) FOR EACH STATEMENT", function: function)
            }
    }

    private func counted(_ rows: String, sign: String) -> String {
        "SELECT r.scopeID, \(sign)1 AS n, \(sign)(\(byteCount(of: "r"))) AS b, "
            + "\(sign)(\(fileBytes(of: "r"))) AS f FROM \(rows) r"
    }

    /// Returns a statement that adds the sums of rows to the counters of their scopes.
    private func count(_ rows: String) -> String {
        """
        UPDATE sync_scope s
            SET rowCount = s.rowCount + c.n, rowBytes = s.rowBytes + c.b, fileBytes = s.fileBytes + c.f
            FROM (SELECT x.scopeID, sum(x.n) AS n, sum(x.b) AS b, sum(x.f) AS f FROM (\(rows)) x
                GROUP BY x.scopeID HAVING sum(x.n) <> 0 OR sum(x.b) <> 0 OR sum(x.f) <> 0) c
            WHERE s.id = c.scopeID;
        """
    }

    // MARK: Recount

    /// Returns a statement that counts the rows of scopes again.
    ///
    /// - Parameter scopes: a condition for the rows of `sync_scope`.
    static func recount(_ scopes: String, schema: CheckedSchema, dialect: SQLDialect) -> String {
        let counts = schema.tables.map { table in
            let sql = UsageSQL(table: table, dialect: dialect)
            return """
                SELECT count(*) AS n, coalesce(sum(\(sql.byteCount(of: "r"))), 0) AS b,
                    coalesce(sum(\(sql.fileBytes(of: "r"))), 0) AS f
                FROM \(TableSQL.quoted(table.name)) r WHERE r.scopeID = sync_scope.id
                """
        }
        return """
            UPDATE sync_scope SET (rowCount, rowBytes, fileBytes) = (
                SELECT sum(c.n), sum(c.b), sum(c.f) FROM (\(counts.joined(separator: "\nUNION ALL "))) c)
            WHERE \(scopes)
            """
    }
}

/// The copy of a store's tables from SQLite to PostgreSQL, in the current transaction.
///
/// PostgreSQL's catalog names the tables and columns, which the same declarations have created in both databases.
/// Positions have one form in both, so the copied rows keep theirs.
struct StoreCopy {
    private struct Table {
        let name: String
        var names: [String] = []
        var kinds: [SQLColumn.Kind] = []

        var columns: String { names.map(TableSQL.quoted).joined(separator: ", ") }
    }

    let source: SQLiteConnection
    let target: any SQLConnection

    /// The bytes of the rows that are inserted with one statement, without the last row.
    private static let chunkLimit = 4 << 20

    /// Copies all tables into those that a migration has just created.
    ///
    /// - Returns: the number of rows of each table.
    /// - Throws: ``SQLFailure``.
    func run() throws -> [String: Int64] {
        // The source contains the row of this table as well.
        try target.execute("DELETE FROM sync_state", arguments: [])
        let parts = try suspensions()
        for part in parts { try target.run(script: part.suspend) }
        var counts: [String: Int64] = [:]
        for table in try tables() {
            do {
                try copy(table)
                counts[table.name] = try count(table)
            } catch let failure as SQLFailure {
                throw SQLFailure(
                    failure.code, message: "The table '\(table.name)' cannot be copied. \(failure.message)")
            }
        }
        // Without statistics, the checks of the references and the first requests may take long.
        for name in counts.keys.sorted() { try target.run(script: "ANALYZE \(TableSQL.quoted(name))") }
        for part in parts.reversed() { try target.run(script: part.resume) }
        return counts
    }

    /// Returns statements that suspend the triggers and the references of the tables, and those that bring them back.
    ///
    /// The triggers would give rows new positions and count them again. A row may refer to a later one of its table.
    private func suspensions() throws -> [(suspend: String, resume: String)] {
        let triggers = """
            SELECT format('ALTER TABLE %I DISABLE TRIGGER %I', c.relname, t.tgname),
                format('ALTER TABLE %I ENABLE ALWAYS TRIGGER %I', c.relname, t.tgname)
            FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
            WHERE c.relnamespace = current_schema()::regnamespace AND NOT t.tgisinternal
            """
        let references = """
            SELECT format('ALTER TABLE %I DROP CONSTRAINT %I', c.relname, k.conname),
                format('ALTER TABLE %I ADD CONSTRAINT %I %s', c.relname, k.conname, pg_get_constraintdef(k.oid))
            FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
            WHERE c.relnamespace = current_schema()::regnamespace AND k.contype = 'f'
            """
        var found: [(suspend: String, resume: String)] = []
        for sql in [triggers, references] {
            try target.query(sql, arguments: []) { row in
                if let suspend = try row.text(0), let resume = try row.text(1) { found.append((suspend, resume)) }
                return true
            }
        }
        return found
    }

    private func tables() throws -> [Table] {
        var tables: [Table] = []
        // The other database has its own objects in `sync_object`.
        let sql = """
            SELECT c.relname::text, a.attname::text, a.atttypid::regtype::text
            FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
            WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname <> 'sync_object'
                AND a.attnum > 0 AND NOT a.attisdropped
            ORDER BY 1, a.attnum
            """
        try target.query(sql, arguments: []) { row in
            guard let table = try row.text(0), let column = try row.text(1), let type = try row.text(2) else {
                return true
            }
            if tables.last?.name != table { tables.append(Table(name: table)) }
            tables[tables.count - 1].names.append(column)
            tables[tables.count - 1].kinds.append(try Self.kind(type))
            return true
        }
        return tables
    }

    private static func kind(_ type: String) throws -> SQLColumn.Kind {
        switch type {
        case "bigint", "integer": return .integer
        case "double precision": return .real
        case "text": return .text
        case "bytea": return .blob
        default: throw SQLFailure(.unusable, message: "A column has the unexpected type \(type).")
        }
    }

    private func copy(_ table: Table) throws {
        let name = TableSQL.quoted(table.name)
        let arrays = (1...table.names.count).map { "?\($0)" }.joined(separator: ", ")
        let insertion = "INSERT INTO \(name) (\(table.columns)) SELECT * FROM unnest(\(arrays))"
        let empty = table.kinds.map { SQLColumn($0) }
        var chunk = empty
        var byteCount = 0
        try source.values(of: "SELECT \(table.columns) FROM \(name)") { values in
            for (index, value) in values.enumerated() {
                byteCount += try Self.byteCount(value, kind: table.kinds[index])
                chunk[index].values.append(value)
            }
            guard byteCount >= Self.chunkLimit else { return }
            try target.query(insertion, arguments: [], columns: chunk) { _ in }
            chunk = empty
            byteCount = 0
        }
        if byteCount > 0 { try target.query(insertion, arguments: [], columns: chunk) { _ in } }
    }

    /// Returns the bytes of a value in an array.
    ///
    /// - Throws: ``SQLFailure`` for a value of another kind, whose bytes PostgreSQL would take for one of this kind.
    private static func byteCount(_ value: SQLValue, kind: SQLColumn.Kind) throws -> Int {
        switch (value, kind) {
        case (.null, _): return 4
        case (.integer, .integer), (.real, .real): return 12
        case (.text(let text), .text): return 4 + text.utf8.count
        case (.blob(let bytes), .blob): return 4 + bytes.count
        default: throw SQLFailure(.invalidValue, message: "A value has another kind than its column.")
        }
    }

    /// Returns the number of rows of a copied table.
    ///
    /// - Throws: ``SQLFailure`` if it differs between the databases.
    private func count(_ table: Table) throws -> Int64 {
        var counts: [Int64] = []
        for db in [source, target] as [any SQLConnection] {
            try db.query("SELECT count(*) FROM \(TableSQL.quoted(table.name))", arguments: []) { row in
                counts.append(try row.integer(0) ?? 0)
                return false
            }
        }
        guard counts.count == 2, counts[0] == counts[1] else {
            throw SQLFailure(.unusable, message: "The databases have different numbers of its rows: \(counts).")
        }
        return counts[0]
    }
}

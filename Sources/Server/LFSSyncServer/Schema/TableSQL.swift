import LFSSystem
import LFSWire

/// The statements of one synced table, in the dialect of one database.
struct TableSQL: Sendable {
    let table: CheckedSchema.Table
    let dialect: SQLDialect
    /// Columns that are looked up together with a reference to another row, by the name of the reference.
    var pairs: [String: String] = [:]

    var name: String { Self.quoted(table.name) }

    static func quoted(_ name: String) -> String { "\"\(name)\"" }

    /// Returns a text as an SQL literal. Names of tables and columns contain no quotes.
    static func literal(_ text: String) -> String { "'\(text)'" }

    private static func literal(_ value: SQLValue, dialect: SQLDialect) -> String {
        switch value {
        case .null: return "NULL"
        case .integer(let number): return "\(number)"
        case .real(let number): return "\(number)"
        case .text(let text): return literal(text.replacing("'", with: "''"))
        case .blob(let bytes):
            let digits = ContentHash.hex(of: bytes)
            return dialect == .sqlite ? "x'\(digits)'" : "'\\x\(digits)'::bytea"
        }
    }

    // MARK: Creation

    /// The statements that create the table, its index, and its triggers.
    var creation: [String] {
        if dialect == .postgres { return postgresCreation }
        let columns =
            ["id TEXT PRIMARY KEY NOT NULL"] + table.table.columns.map(column) + [
                "scopeID TEXT NOT NULL REFERENCES sync_scope(id) ON DELETE CASCADE",
                "updateID TEXT NOT NULL DEFAULT ''",
            ]
        return [
            "CREATE TABLE \(name) (\n    \(columns.joined(separator: ",\n    "))\n)",
            "CREATE INDEX \(Self.quoted("sync_\(table.name)_position")) ON \(name)(scopeID, updateID)",
        ] + parentIndexes + keys + triggers
    }

    /// An index for each reference to another row. In a shared container, it finds a content or an account without
    /// reading all others.
    var parentIndexes: [String] {
        table.table.columns.filter { $0.parent != nil }.map { column in
            let columns = [column.name] + (pairs[column.name].map { [$0] } ?? [])
            let list = columns.map(Self.quoted).joined(separator: ", ")
            return "CREATE INDEX \(Self.quoted("sync_\(table.name)_\(column.name)")) ON \(name)(\(list))"
        }
    }

    /// The index of files by the keys of their objects. Empty for other tables.
    var keys: [String] {
        guard table.name == SyncType.fileTable else { return [] }
        return ["CREATE INDEX \(Self.quoted("sync_\(table.name)_key")) ON \(name)(\(Self.quoted("key")))"]
    }

    func column(_ column: SyncSchema.Column) -> String {
        if dialect == .postgres { return Self.postgresColumn(column) }
        let quoted = Self.quoted(column.name)
        return "\(quoted) \(Self.type(column.kind))" + Self.constraints(column, dialect: .sqlite)
            + " CHECK (\(quoted) IS NULL OR \(Self.check(column.kind, column: quoted)))"
    }

    /// Returns the constraints of a column in both dialects.
    static func constraints(_ column: SyncSchema.Column, dialect: SQLDialect) -> String {
        var text = column.isNeverNull ? " NOT NULL" : ""
        if let value = column.defaultValue { text += " DEFAULT \(literal(value, dialect: dialect))" }
        if let parent = column.parent {
            text += " REFERENCES \(quoted(parent.table))(id)"
            switch parent.onDelete {
            case .noAction: break
            case .cascade: text += " ON DELETE CASCADE"
            case .setNull: text += " ON DELETE SET NULL"
            }
        }
        return text
    }

    private static func type(_ kind: SyncSchema.Column.Kind) -> String {
        switch kind {
        case .integer: "INTEGER"
        case .real: "REAL"
        case .text: "TEXT"
        case .blob: "BLOB"
        }
    }

    private static func check(_ kind: SyncSchema.Column.Kind, column: String) -> String {
        "typeof(\(column)) = '\(kind.rawValue)'"
    }

    // MARK: Triggers

    var triggers: [String] {
        let columns = ["id", "scopeID"] + table.table.columns.map(\.name)
        let differs = columns.map { "OLD.\(Self.quoted($0)) IS NOT NEW.\(Self.quoted($0))" }
        let names = columns.map(Self.quoted).joined(separator: ", ")
        let usage = UsageSQL(table: table, dialect: dialect)
        return [
            """
            CREATE TRIGGER \(trigger("insert")) AFTER INSERT ON \(name)
            BEGIN
                \(stamp("NEW", counting: usage.adding))
                DELETE FROM sync_tombstone
                WHERE scopeID = NEW.scopeID AND tableName = \(Self.literal(table.name)) AND key = NEW.id;
                \(touch("NEW"))
            END
            """,
            """
            CREATE TRIGGER \(trigger("update")) AFTER UPDATE OF \(names) ON \(name)
            WHEN \(differs.joined(separator: " OR "))
            BEGIN
                \(stamp("NEW", counting: usage.changing))
                DELETE FROM sync_tombstone
                WHERE scopeID = NEW.scopeID AND tableName = \(Self.literal(table.name)) AND key = NEW.id;
                \(touch("NEW"))
            END
            """,
            """
            CREATE TRIGGER \(trigger("move")) AFTER UPDATE OF id, scopeID ON \(name)
            WHEN OLD.id IS NOT NEW.id OR OLD.scopeID IS NOT NEW.scopeID
            BEGIN
                \(bury(where: "OLD.id IS NOT NEW.id", counting: usage.leaving))
            END
            """,
            // When a whole scope is deleted, its row in `sync_scope` is missing, so the scope gets no position. Shared
            // scopes still get one.
            """
            CREATE TRIGGER \(trigger("delete")) AFTER DELETE ON \(name)
            BEGIN
                \(bury(where: "1 = 1", counting: usage.removing))
            END
            """,
            // `INSERT OR REPLACE` deletes a row without firing triggers if recursive triggers are disabled.
            """
            CREATE TRIGGER \(trigger("replace")) BEFORE INSERT ON \(name)
            WHEN EXISTS (SELECT 1 FROM \(name) WHERE id = NEW.id AND scopeID <> NEW.scopeID)
            BEGIN
                SELECT RAISE(ABORT, 'A row with this id is in another scope.');
            END
            """,
        ]
    }

    private func trigger(_ role: String) -> String { Self.quoted("sync_\(table.name)_\(role)") }

    /// Returns statements that give the row the next position of its scope.
    private func stamp(_ row: String, counting counters: String) -> String {
        """
        \(Self.advance("id = \(row).scopeID", counting: counters))
            UPDATE \(name) SET updateID = (SELECT head FROM sync_scope WHERE id = \(row).scopeID)
            WHERE id = \(row).id;
        """
    }

    /// Returns statements that give the row new positions in the shared scopes that contain it.
    private func touch(_ row: String) -> String {
        let members = "tableName = \(Self.literal(table.name)) AND key = \(row).id AND isDeleted = 0"
        return """
            \(Self.advance("id IN (SELECT scopeID FROM sync_member WHERE \(members))"))
                UPDATE sync_member SET updateID = (SELECT head FROM sync_scope s WHERE s.id = scopeID)
                WHERE \(members);
            """
    }

    /// Returns statements that record the removal of the row from its scope and from the shared scopes.
    ///
    /// - Parameters:
    ///   - hasLeftAll: an SQL condition. If it is false, the row has only moved to another account and stays in the
    ///     shared scopes.
    ///   - counters: the assignments to the counters of the row's scope.
    private func bury(where hasLeftAll: String, counting counters: String) -> String {
        let members = "tableName = \(Self.literal(table.name)) AND key = OLD.id AND isDeleted = 0 AND \(hasLeftAll)"
        return """
            \(Self.advance("id = OLD.scopeID", counting: counters))
                DELETE FROM sync_tombstone
                WHERE scopeID = OLD.scopeID AND tableName = \(Self.literal(table.name)) AND key = OLD.id;
                INSERT INTO sync_tombstone (scopeID, tableName, key, updateID)
                SELECT id, \(Self.literal(table.name)), OLD.id, head FROM sync_scope WHERE id = OLD.scopeID;
                \(Self.advance("id IN (SELECT scopeID FROM sync_member WHERE \(members))"))
                UPDATE sync_member
                SET isDeleted = 1, updateID = (SELECT head FROM sync_scope s WHERE s.id = scopeID)
                WHERE \(members);
            """
    }

    /// Returns statements that advance scopes. A position is a UUID of version 7 (RFC 9562, section 5.7) whose first 90
    /// bits never decrease within a scope. It contains a counter of 42 bits below the millisecond (section 6.2, method
    /// 1). SQLite has one writer at a time, so positions ascend in the order of the commits.
    ///
    /// - Parameter counters: the assignments to the counters of the scopes. Empty for none.
    static func advance(_ scopes: String, counting counters: String = "") -> String {
        let now = "CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)"
        let counting = counters.isEmpty ? "" : ", \(counters)"
        return """
            UPDATE sync_scope SET
                    counter = CASE WHEN \(now) > clock THEN 0 ELSE counter + 1 END,
                    clock = CASE WHEN \(now) > clock THEN \(now) ELSE clock END\(counting)
                WHERE \(scopes);
                UPDATE sync_scope SET head = printf('%08x-%04x-7%03x-%04x-%04x%08x',
                    clock >> 16, clock & 65535, counter >> 30, 32768 | (counter >> 16 & 16383), counter & 65535,
                    random() & 4294967295)
                WHERE \(scopes);
            """
    }

    // MARK: Reading

    /// Returns SQL for a row's `data` as JSON.
    ///
    /// - Parameter version: the version of the type.
    func json(version: Int, of row: String) -> String {
        let columns = table.versions[version - 1].map { column in
            "',\"\(column.name)\":' || \(value(column.kind, value: "\(row).\(Self.quoted(column.name))"))"
        }
        return (["'{\"id\":' || \(dialect.key("\(row).id"))"] + columns + ["'}'"]).joined(separator: " || ")
    }

    private func value(_ kind: SyncSchema.Column.Kind, value: String) -> String {
        dialect == .sqlite ? Self.json(kind, value: value) : Self.postgresJSON(kind, value: value)
    }

    private static func json(_ kind: SyncSchema.Column.Kind, value: String) -> String {
        switch kind {
        case .integer, .text: "json_quote(\(value))"
        case .real: "coalesce(lfs_real(\(value)), 'null')"
        // hex(NULL) is an empty text.
        case .blob: "CASE WHEN \(value) IS NULL THEN 'null' ELSE '{\"hex\":\"' || lower(hex(\(value))) || '\"}' END"
        }
    }

    /// Returns a query for a page of an account's own rows and deletions. Its columns are the position, whether the row
    /// is deleted, and `data`. Its arguments are the scope, the start, the end, the limit, and the start of the
    /// deletions.
    func ownPage(version: Int) -> String {
        if dialect == .postgres { return postgresOwnPage(version: version) }
        return """
            SELECT t.updateID, 0, \(json(version: version, of: "t")) FROM \(name) t
            WHERE t.scopeID = ?1 AND t.updateID > ?2 AND t.updateID <= ?3
            UNION ALL
            SELECT d.updateID, 1, '{"id":' || \(dialect.key("d.key")) || '}' FROM sync_tombstone d
            WHERE d.scopeID = ?1 AND d.tableName = \(Self.literal(table.name)) AND d.updateID > ?5 AND d.updateID <= ?3
            ORDER BY 1 LIMIT ?4
            """
    }

    /// Returns a query for a page of a shared scope, without rows that the device has from its own account. Its
    /// arguments are those of ``ownPage(version:)``, and the scope of the account.
    func sharedPage(version: Int) -> String {
        """
        SELECT m.updateID, m.isDeleted, CASE m.isDeleted WHEN 0 THEN \(json(version: version, of: "t"))
            ELSE '{"id":' || \(dialect.key("m.key")) || '}' END
        FROM sync_member m LEFT JOIN \(name) t ON t.id = m.key
        WHERE m.scopeID = ?1 AND m.tableName = \(Self.literal(table.name)) AND m.updateID > ?2 AND m.updateID <= ?3
            AND (m.isDeleted = 0 OR m.updateID > ?5) AND t.scopeID \(dialect.differs) ?6
        ORDER BY m.updateID LIMIT ?4
        """
    }
}

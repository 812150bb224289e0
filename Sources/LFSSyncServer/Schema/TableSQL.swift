import LFSWire

/// The statements of one synced table, in the words of one database.
struct TableSQL: Sendable {
    let table: CheckedSchema.Table
    let dialect: SQLDialect
    /// Columns that are looked for together with one that refers to another row, by the names of the latter.
    var pairs: [String: String] = [:]

    var name: String { Self.quoted(table.name) }

    static func quoted(_ name: String) -> String { "\"\(name)\"" }

    /// A text that stands in a statement. Names of tables and columns have no quotes.
    static func literal(_ text: String) -> String { "'\(text)'" }

    // MARK: Making

    /// The table, its index, and its triggers.
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

    /// One for each column that refers to another row. In a shared container it finds one content or one account
    /// without a look at all others.
    var parentIndexes: [String] {
        table.table.columns.filter { $0.parent != nil }.map { column in
            let columns = [column.name] + (pairs[column.name].map { [$0] } ?? [])
            let list = columns.map(Self.quoted).joined(separator: ", ")
            return "CREATE INDEX \(Self.quoted("sync_\(table.name)_\(column.name)")) ON \(name)(\(list))"
        }
    }

    /// Of files, which are looked for by their objects' keys as well.
    var keys: [String] {
        guard table.name == SyncType.fileTable else { return [] }
        return ["CREATE INDEX \(Self.quoted("sync_\(table.name)_key")) ON \(name)(\(Self.quoted("key")))"]
    }

    func column(_ column: SyncSchema.Column) -> String {
        if dialect == .postgres { return Self.postgresColumn(column) }
        let quoted = Self.quoted(column.name)
        return "\(quoted) \(Self.type(column.kind))" + Self.constraints(column)
            + " CHECK (\(quoted) IS NULL OR \(Self.check(column.kind, quoted)))"
    }

    /// What both databases say of a column.
    static func constraints(_ column: SyncSchema.Column) -> String {
        var text = ""
        // Rows of devices that know an older version do not have it.
        if column.isRequired, column.since == 1 { text += " NOT NULL" }
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

    private static func check(_ kind: SyncSchema.Column.Kind, _ column: String) -> String {
        "typeof(\(column)) = '\(kind.rawValue)'"
    }

    // MARK: Triggers

    var triggers: [String] {
        let columns = ["id", "scopeID"] + table.table.columns.map(\.name)
        let differs = columns.map { "OLD.\(Self.quoted($0)) IS NOT NEW.\(Self.quoted($0))" }
        let names = columns.map(Self.quoted).joined(separator: ", ")
        return [
            """
            CREATE TRIGGER \(trigger("insert")) AFTER INSERT ON \(name)
            BEGIN
                \(stamp("NEW"))
                DELETE FROM sync_tombstone
                WHERE scopeID = NEW.scopeID AND tableName = \(Self.literal(table.name)) AND key = NEW.id;
                \(touch("NEW"))
            END
            """,
            """
            CREATE TRIGGER \(trigger("update")) AFTER UPDATE OF \(names) ON \(name)
            WHEN \(differs.joined(separator: " OR "))
            BEGIN
                \(stamp("NEW"))
                DELETE FROM sync_tombstone
                WHERE scopeID = NEW.scopeID AND tableName = \(Self.literal(table.name)) AND key = NEW.id;
                \(touch("NEW"))
            END
            """,
            """
            CREATE TRIGGER \(trigger("move")) AFTER UPDATE OF id, scopeID ON \(name)
            WHEN OLD.id IS NOT NEW.id OR OLD.scopeID IS NOT NEW.scopeID
            BEGIN
                \(bury(where: "OLD.id IS NOT NEW.id"))
            END
            """,
            // A scope that is deleted as a whole has no position any more, and no row for it here; the shared ones
            // have.
            """
            CREATE TRIGGER \(trigger("delete")) AFTER DELETE ON \(name)
            BEGIN
                \(bury(where: "1 = 1"))
            END
            """,
            // `INSERT OR REPLACE` takes a row away without a word where recursive triggers are off.
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

    /// Gives the row the next position of its scope.
    private func stamp(_ row: String) -> String {
        """
        \(Self.advance("id = \(row).scopeID"))
            UPDATE \(name) SET updateID = (SELECT head FROM sync_scope WHERE id = \(row).scopeID)
            WHERE id = \(row).id;
        """
    }

    /// Gives the row new positions in the shared scopes that contain it.
    private func touch(_ row: String) -> String {
        let members = "tableName = \(Self.literal(table.name)) AND key = \(row).id AND isDeleted = 0"
        return """
            \(Self.advance("id IN (SELECT scopeID FROM sync_member WHERE \(members))"))
                UPDATE sync_member SET updateID = (SELECT head FROM sync_scope s WHERE s.id = scopeID)
                WHERE \(members);
            """
    }

    /// Notes that the row is gone from its scope, and from those that contained it.
    ///
    /// - Parameter hasLeftAll: a row that has only moved to another account stays in the shared ones.
    private func bury(where hasLeftAll: String) -> String {
        let members = "tableName = \(Self.literal(table.name)) AND key = OLD.id AND isDeleted = 0 AND \(hasLeftAll)"
        return """
            \(Self.advance("id = OLD.scopeID"))
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

    /// Moves scopes on: a UUID version 7 (RFC 9562, section 5.7) whose first 90 bits never go back within a scope, with
    /// a counter of 42 bits below the millisecond (section 6.2, method 1). SQLite has one writer at a time, so that ids
    /// ascend in the order of the commits.
    static func advance(_ scopes: String) -> String {
        let now = "CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)"
        return """
            UPDATE sync_scope SET
                    counter = CASE WHEN \(now) > clock THEN 0 ELSE counter + 1 END,
                    clock = CASE WHEN \(now) > clock THEN \(now) ELSE clock END
                WHERE \(scopes);
                UPDATE sync_scope SET head = printf('%08x-%04x-7%03x-%04x-%04x%08x',
                    clock >> 16, clock & 65535, counter >> 30, 32768 | (counter >> 16 & 16383), counter & 65535,
                    random() & 4294967295)
                WHERE \(scopes);
            """
    }

    // MARK: Reading

    /// A row's `data` as JSON.
    ///
    /// - Parameter version: of the type.
    func json(version: Int, of row: String) -> String {
        let columns = table.versions[version - 1].map { column in
            "',\"\(column.name)\":' || \(value(column.kind, "\(row).\(Self.quoted(column.name))"))"
        }
        return (["'{\"id\":' || \(dialect.key("\(row).id"))"] + columns + ["'}'"]).joined(separator: " || ")
    }

    private func value(_ kind: SyncSchema.Column.Kind, _ value: String) -> String {
        dialect == .sqlite ? Self.json(kind, value) : Self.postgresJSON(kind, value)
    }

    private static func json(_ kind: SyncSchema.Column.Kind, _ value: String) -> String {
        switch kind {
        case .integer, .text: "json_quote(\(value))"
        case .real: "coalesce(lfs_real(\(value)), 'null')"
        // hex(NULL) is an empty text.
        case .blob: "CASE WHEN \(value) IS NULL THEN 'null' ELSE '{\"hex\":\"' || lower(hex(\(value))) || '\"}' END"
        }
    }

    /// One page of an account's own rows and of what is gone: position, whether it is gone, `data`. Arguments: scope,
    /// after, up to, limit, and after what of that which is gone.
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

    /// One page of what a shared scope contains, but for what the device has from its own account. Arguments: as
    /// ``ownPage(version:)``, and the scope of the account.
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

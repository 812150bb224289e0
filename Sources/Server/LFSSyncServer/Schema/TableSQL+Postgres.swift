/// The statements of a synced table for PostgreSQL. Texts are compared by their bytes, which positions require.
extension TableSQL {
    /// The statements that create the table, its indexes, and its triggers.
    var postgresCreation: [String] {
        let columns =
            ["id \(Self.text) PRIMARY KEY"] + table.table.columns.map(Self.postgresColumn) + [
                "scopeID \(Self.text) NOT NULL REFERENCES sync_scope(id) ON DELETE CASCADE",
                "updateID \(Self.text) NOT NULL DEFAULT ''",
            ]
        return [
            "CREATE TABLE \(name) (\n    \(columns.joined(separator: ",\n    "))\n)",
            "CREATE INDEX \(Self.quoted("sync_\(table.name)_position")) ON \(name)(scopeID, updateID)",
        ] + parentIndexes + keys + PostgresOrder.triggers(ofTable: table.name)
            + UsageSQL(table: table, dialect: dialect).postgresTriggers
    }

    private static let text = "TEXT COLLATE \"C\""

    static func postgresColumn(_ column: SyncSchema.Column) -> String {
        let type =
            switch column.kind {
            case .integer: "BIGINT"
            case .real: "DOUBLE PRECISION"
            case .text: text
            case .blob: "BYTEA"
            }
        return "\(quoted(column.name)) \(type)" + constraints(column, dialect: .postgres)
    }

    /// Returns the query of ``ownPage(version:)``. Each half has its own order and limit. Otherwise PostgreSQL would
    /// read all rows of the scope and sort them.
    func postgresOwnPage(version: Int) -> String {
        """
        (SELECT t.updateID, 0, \(json(version: version, of: "t")) FROM \(name) t
        WHERE t.scopeID = ?1 AND t.updateID > ?2 AND t.updateID <= ?3 ORDER BY t.updateID LIMIT ?4)
        UNION ALL
        (SELECT d.updateID, 1, '{"id":' || \(dialect.key("d.key")) || '}' FROM sync_tombstone d
        WHERE d.scopeID = ?1 AND d.tableName = \(Self.literal(table.name)) AND d.updateID > ?5 AND d.updateID <= ?3
        ORDER BY d.updateID LIMIT ?4)
        ORDER BY 1 LIMIT ?4
        """
    }

    /// Returns SQL that writes a value as JSON in the same way as `json` on SQLite.
    static func postgresJSON(_ kind: SyncSchema.Column.Kind, value: String) -> String {
        switch kind {
        case .integer: "coalesce(\(value)::text, 'null')"
        case .text: "coalesce(to_json(\(value))::text, 'null')"
        case .real: "coalesce(lfs_real(\(value)), 'null')"
        case .blob: "coalesce('{\"hex\":\"' || encode(\(value), 'hex') || '\"}', 'null')"
        }
    }
}

extension SQLDialect {
    /// Returns SQL for a key as JSON.
    func key(_ value: String) -> String {
        switch self {
        case .sqlite: "json_quote(\(value))"
        case .postgres: "to_json(\(value))::text"
        }
    }

    /// The operator for two values that differ, with NULL as a value.
    var differs: String {
        switch self {
        case .sqlite: "IS NOT"
        case .postgres: "IS DISTINCT FROM"
        }
    }

    /// The join whose left side SQLite reads first. PostgreSQL knows the numbers of rows.
    var inOrder: String {
        switch self {
        case .sqlite: "CROSS JOIN"
        case .postgres: "JOIN"
        }
    }

    /// The end of a SELECT from `s` in a transaction that will change the result. SQLite has one writer and needs no
    /// lock.
    var forChange: String {
        switch self {
        case .sqlite: ""
        case .postgres: " FOR NO KEY UPDATE OF s"
        }
    }

    /// The end of a SELECT from a session `s` and its scope `o` in a transaction that will change both.
    var forPush: String {
        switch self {
        case .sqlite: ""
        case .postgres: " FOR NO KEY UPDATE OF s, o"
        }
    }

    /// Returns statements that create tables, in this dialect.
    func tables(_ script: String) -> String {
        switch self {
        case .sqlite: script
        case .postgres:
            script.replacing(" TEXT", with: " TEXT COLLATE \"C\"").replacing(" WITHOUT ROWID", with: "")
        }
    }
}

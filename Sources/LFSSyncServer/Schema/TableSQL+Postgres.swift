/// A synced table in the words of PostgreSQL. Texts are compared by their bytes, as positions have to be.
extension TableSQL {
    /// The table, its indexes, and its triggers.
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
        return "\(quoted(column.name)) \(type)" + constraints(column)
    }

    /// As ``ownPage(version:)``. Each half has its own order and end, for PostgreSQL would read all rows of the scope
    /// and sort them otherwise.
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

    /// A value as JSON, as `json` writes it on SQLite.
    static func postgresJSON(_ kind: SyncSchema.Column.Kind, _ value: String) -> String {
        switch kind {
        case .integer: "coalesce(\(value)::text, 'null')"
        case .text: "coalesce(to_json(\(value))::text, 'null')"
        case .real: "coalesce(lfs_real(\(value)), 'null')"
        case .blob: "coalesce('{\"hex\":\"' || encode(\(value), 'hex') || '\"}', 'null')"
        }
    }
}

extension SQLDialect {
    /// A key as JSON.
    func key(_ value: String) -> String {
        switch self {
        case .sqlite: "json_quote(\(value))"
        case .postgres: "to_json(\(value))::text"
        }
    }

    /// What stands between two values that are not the same, NULL being one.
    var differs: String {
        switch self {
        case .sqlite: "IS NOT"
        case .postgres: "IS DISTINCT FROM"
        }
    }

    /// A join whose left side SQLite reads first. PostgreSQL knows how many rows there are.
    var inOrder: String {
        switch self {
        case .sqlite: "CROSS JOIN"
        case .postgres: "JOIN"
        }
    }

    /// At the end of a SELECT from `s` in a transaction that is to change what it finds there. SQLite has one writer.
    var forChange: String {
        switch self {
        case .sqlite: ""
        case .postgres: " FOR NO KEY UPDATE OF s"
        }
    }

    /// Statements that make tables, in this database's words.
    func tables(_ script: String) -> String {
        switch self {
        case .sqlite: script
        case .postgres:
            script.replacing(" TEXT", with: " TEXT COLLATE \"C\"").replacing(" WITHOUT ROWID", with: "")
        }
    }
}

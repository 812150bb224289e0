import LFSWire

/// A table, index, trigger or function, with the statement that creates it.
struct SchemaObject: Sendable, Hashable {
    struct Name: Sendable, Hashable, Comparable, CustomStringConvertible {
        /// The kind: `table`, `index`, `trigger`, `function` or `sequence`.
        let kind: String
        /// The name. On PostgreSQL, it includes the table of a trigger, such as `recipe.sync_insert`, and the arguments
        /// of a function.
        let name: String

        /// The statement that removes the object.
        var removal: String {
            let parts = name.split(separator: kind == "function" ? "(" : ".").map(String.init)
            let (first, last) = (parts.first ?? "", parts.last ?? "")
            return switch (kind, parts.count) {
            case ("function", _): "DROP FUNCTION \"\(first)\"()"
            case ("trigger", 2): "DROP TRIGGER \"\(last)\" ON \"\(first)\""
            default: "DROP \(kind.uppercased()) \"\(name)\""
            }
        }

        var description: String { "\(kind) '\(name)'" }

        static func < (left: Name, right: Name) -> Bool { (left.kind, left.name) < (right.kind, right.name) }
    }

    let name: Name
    /// The statement that creates the object.
    let source: String
    /// The table of an index or trigger. Otherwise nil.
    let table: String?

    /// - Parameter source: a statement `CREATE kind "name" …`. For a trigger, it contains `… ON "table"`.
    init(_ source: String, dialect: SQLDialect) {
        let parts = source.split(separator: "\"", maxSplits: 2)
        let kind = parts[0].split(separator: " ").last.map { $0.lowercased() } ?? ""
        let name = parts.count > 1 ? String(parts[1]) : ""
        let table = source.firstRange(of: " ON \"").map { String(source[$0.upperBound...].prefix { $0 != "\"" }) }
        self.table = ["index", "trigger"].contains(kind) ? table : nil
        self.name =
            switch (dialect, kind) {
            case (.postgres, "trigger"): Name(kind: kind, name: "\(table ?? "").\(name)")
            case (.postgres, "function"): Name(kind: kind, name: name + "()")
            default: Name(kind: kind, name: name)
            }
        self.source = source
    }

    /// Checks the names of a schema.
    ///
    /// - Throws: ``SyncSchemaError`` for names that PostgreSQL would cut off, so that two of them may become equal.
    static func requireNames(of schema: CheckedSchema, _ dialect: SQLDialect) throws(SyncSchemaError) {
        guard dialect == .postgres else { return }
        for object in all(of: schema, dialect) {
            for part in object.name.name.split(whereSeparator: { ".()".contains($0) }) where part.utf8.count > 63 {
                throw SyncSchemaError(
                    "",
                    message:
                        "'\(part)' has more than 63 bytes, which PostgreSQL does not accept. Shorten the table's name.")
            }
        }
    }

    /// Returns the objects that a schema needs besides the server's own tables, in the order of their creation.
    static func all(of schema: CheckedSchema, _ dialect: SQLDialect) -> [SchemaObject] {
        let tables = schema.tables.flatMap { table in
            TableSQL(table: table, dialect: dialect, pairs: schema.sharing.pairs(of: table.name)).creation
        }
        let removal = ServerTables.removal(dialect)
        let sharing =
            ScopeSQL(dialect: dialect).triggers
            + schema.sharing.containers.flatMap { ContainerSQL(container: $0, dialect: dialect).triggers }
            + (schema.sharing.partners.map { PartnerSQL(partners: $0, dialect: dialect).triggers } ?? [])
            + (schema.sharing.people.map { PeopleSQL(people: $0, dialect: dialect).triggers } ?? [])
        return (tables + removal + sharing).map { SchemaObject($0, dialect: dialect) }
    }
}

/// The objects that the database itself reports.
enum SchemaCatalog {
    /// Returns the definitions of the objects by their names.
    ///
    /// - Throws: ``SQLFailure``.
    static func objects(_ db: any SQLConnection) throws -> [SchemaObject.Name: String] {
        var objects: [SchemaObject.Name: String] = [:]
        let sql =
            switch db.dialect {
            case .sqlite:
                """
                SELECT type, name, sql FROM sqlite_master
                WHERE sql IS NOT NULL AND type IN ('table', 'index', 'trigger')
                """
            case .postgres: PostgresCatalog.objects
            }
        try db.query(sql, arguments: []) { row in
            if let kind = try row.text(0), let name = try row.text(1), let definition = try row.text(2) {
                objects[.init(kind: kind, name: name)] = definition
            }
            return true
        }
        return objects
    }
}

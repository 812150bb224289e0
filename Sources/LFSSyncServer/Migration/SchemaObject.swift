import LFSWire

/// A table, index or trigger, as a statement makes it.
struct SchemaObject: Sendable, Hashable {
    struct Name: Sendable, Hashable, Comparable, CustomStringConvertible {
        /// `table`, `index`, `trigger`.
        let kind: String
        let name: String

        var description: String { "\(kind) '\(name)'" }

        static func < (left: Name, right: Name) -> Bool { (left.kind, left.name) < (right.kind, right.name) }
    }

    let name: Name
    /// The statement.
    let source: String

    /// - Parameter source: `CREATE kind "name" …`.
    private init(_ source: String) {
        let parts = source.split(separator: "\"", maxSplits: 2)
        let kind = parts[0].split(separator: " ").last.map { $0.lowercased() } ?? ""
        name = Name(kind: kind, name: parts.count > 1 ? String(parts[1]) : "")
        self.source = source
    }

    /// What a schema needs besides the tables that every one has, in the order in which it is made.
    static func all(of schema: CheckedSchema, _ dialect: SQLDialect) -> [SchemaObject] {
        let tables = schema.tables.flatMap { TableSQL(table: $0, dialect: dialect).creation }
        let sharing =
            ScopeSQL(dialect: dialect).triggers
            + schema.sharing.containers.flatMap { ContainerSQL(container: $0, dialect: dialect).triggers }
            + (schema.sharing.partners.map { PartnerSQL(partners: $0, dialect: dialect).triggers } ?? [])
        return (tables + sharing).map { SchemaObject($0) }
    }
}

/// What the database itself says that it has.
enum SchemaCatalog {
    /// - Throws: ``SQLFailure``.
    static func objects(_ db: any SQLConnection) throws -> [SchemaObject.Name: String] {
        guard db.dialect == .sqlite else {
            throw SQLFailure(.unusable, "The catalog of this database cannot be compared yet.")
        }
        var objects: [SchemaObject.Name: String] = [:]
        let sql =
            "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND type IN ('table', 'index', 'trigger')"
        try db.query(sql, []) { row in
            if let kind = try row.text(0), let name = try row.text(1), let definition = try row.text(2) {
                objects[.init(kind: kind, name: name)] = definition
            }
            return true
        }
        return objects
    }
}

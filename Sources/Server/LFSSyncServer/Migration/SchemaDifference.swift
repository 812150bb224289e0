import LFSWire

/// The changes from one schema to another, or the reasons that prevent them.
struct SchemaDifference: Sendable {
    /// The statements in their order.
    private(set) var statements: [String] = []
    /// The new indexes of tables that servers use. They are built after the statements.
    private(set) var indexes: [SchemaObject] = []
    /// A sentence for each difference that only a person can resolve.
    private(set) var refusals: [String] = []

    /// Creates a difference without changes.
    init() {}

    /// - Parameters:
    ///   - version: the version of the server's own tables.
    ///   - additions: the statements that lead from that version to the one of the server.
    ///   - old: the current schema, or nil before the first one.
    ///   - made: the objects that the store contains.
    init(
        ofVersion version: Int64, additions: [String], from old: SyncSchema?, to new: SyncSchema,
        checked: CheckedSchema, made: [SchemaObject.Name: SchemaTable.Object], dialect: SQLDialect
    ) {
        statements = ServerTables.additions(since: version, dialect: dialect) + additions
        if let old {
            compare(old, new: new)
            for table in checked.tables {
                guard let before = old.tables.first(where: { $0.name == table.name }) else { continue }
                let sql = TableSQL(table: table, dialect: dialect)
                for column in table.table.columns where !before.columns.contains(where: { $0.name == column.name }) {
                    statements.append("ALTER TABLE \(sql.name) ADD COLUMN \(sql.column(column))")
                }
            }
        }
        guard refusals.isEmpty else { return }
        let wanted = SchemaObject.all(of: checked, dialect)
        // Indexes, triggers and functions contain no data, so they are created again if their statement has changed. A
        // function is replaced, because remaining triggers may call it. An obsolete function is dropped after the
        // triggers.
        let sources = Dictionary(wanted.map { ($0.name, $0.source) }) { first, _ in first }
        for (name, object) in made.sorted(by: { $0.key > $1.key }) where !object.source.isEmpty && name.kind != "table"
        {
            let isReplaced = name.kind == "function" && sources[name] != nil
            if sources[name] != object.source, !isReplaced { statements.append(name.removal) }
        }
        for object in wanted {
            switch made[object.name] {
            case nil where Self.isDeferred(object, from: old, to: new, made: made, dialect: dialect):
                indexes.append(object)
            case nil: statements.append(object.source)
            case let found? where found.source != object.source && object.name.kind != "table":
                statements.append(object.source)
            default: break
            }
        }
        if dialect == .postgres, let stamp = made[SchemaTable.stamp], !PostgresOrder.isStamp(stamp.definition) {
            statements.append(PostgresOrder.stamp)
        }
        if dialect == .postgres, made[SchemaTable.notice] == nil { statements += PostgresNotices.statements }
        for addition in SchemaAddition.all(dialect) where made[addition.objects[0].name] == nil {
            statements += addition.statements
        }
        if let old { settle(old, new: new, dialect: dialect) }
        statements += ServerTables.fillings(since: version, schema: checked, dialect: dialect)
    }

    /// Returns true for an index of a table that already has rows. PostgreSQL can build it while servers write.
    ///
    /// With new sharing rules, the statements that apply them to existing rows need the index.
    private static func isDeferred(
        _ object: SchemaObject, from old: SyncSchema?, to new: SyncSchema,
        made: [SchemaObject.Name: SchemaTable.Object], dialect: SQLDialect
    ) -> Bool {
        guard dialect == .postgres, object.name.kind == "index", let table = object.table,
            made[.init(kind: "table", name: table)] != nil
        else { return false }
        return old?.hasSameSharing(as: new) == true
    }

    /// Adds statements that apply new sharing rules to existing rows.
    private mutating func settle(_ old: SyncSchema, new: SyncSchema, dialect: SQLDialect) {
        for container in new.containers where !old.containers.contains(container) {
            let account = TableSQL.quoted(container.account)
            statements.append("UPDATE \(TableSQL.quoted(container.members)) SET \(account) = \(account)")
        }
        if let partners = new.partners, old.partners == nil {
            let from = TableSQL.quoted(partners.from)
            statements.append("UPDATE \(TableSQL.quoted(partners.table)) SET \(from) = \(from)")
        }
        if let people = new.people, old.people == nil {
            statements += PeopleSQL(people: people, dialect: dialect).backfill
        }
    }

    private mutating func compare(_ old: SyncSchema, new: SyncSchema) {
        for table in old.tables {
            guard let now = new.tables.first(where: { $0.name == table.name }) else {
                refusals.append("The store has the table '\(table.name)', but the schema does not.")
                continue
            }
            compare(table, new: now)
        }
        for container in old.containers where !new.containers.contains(container) {
            refusals.append("The store shares '\(container.table)', but the schema does not, or differs.")
        }
        if let partners = old.partners, new.partners != partners {
            refusals.append("The store has partners in '\(partners.table)', but the schema does not, or differs.")
        }
        if let people = old.people, new.people != people {
            refusals.append("The store has people in '\(people.table)', but the schema does not, or differs.")
        }
    }

    private mutating func compare(_ old: SyncSchema.Table, new: SyncSchema.Table) {
        for column in old.columns {
            let name = "The column '\(column.name)' of '\(old.name)'"
            guard let now = new.columns.first(where: { $0.name == column.name }) else {
                refusals.append("\(name) is in the store, but not in the schema.")
                continue
            }
            if now.kind != column.kind {
                refusals.append(
                    "\(name) is \(column.kind.rawValue) in the store, but \(now.kind.rawValue) in the schema.")
            }
            if now.isRequired != column.isRequired {
                refusals.append(
                    "\(name) \(column.isRequired ? "never is" : "may be") NULL in the store, unlike in the schema.")
            }
            if now.parent != column.parent { refusals.append("\(name) has a different reference in the store.") }
            if now.since != column.since {
                refusals.append(
                    "\(name) is of version \(column.since) in the store, but of \(now.since) in the schema.")
            }
        }
        for column in new.columns where !old.columns.contains(where: { $0.name == column.name }) {
            if column.isNeverNull, column.defaultValue == nil {
                refusals.append(
                    "The column '\(column.name)' of '\(old.name)' is new and never NULL, but existing rows lack it. "
                        + "Allow NULL, give it a constant default, or assign it to the next version with 'since'.")
            }
        }
    }
}

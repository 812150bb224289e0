import LFSWire

/// What leads from one schema to another, or forbids it.
struct SchemaDifference: Sendable {
    /// In their order.
    private(set) var statements: [String] = []
    /// A sentence for each thing that only a person can decide.
    private(set) var refusals: [String] = []

    /// - Parameters:
    ///   - old: nil before the first.
    ///   - made: what the store has.
    init(
        from old: SyncSchema?, to new: SyncSchema, checked: CheckedSchema,
        made: [SchemaObject.Name: SchemaTable.Object],
        dialect: SQLDialect
    ) {
        if let old {
            compare(old, new)
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
        // Indexes, triggers and functions hold nothing: they are made anew where their statement is another. A function
        // is replaced, since triggers that stay may call it, and goes after them.
        let sources = Dictionary(wanted.map { ($0.name, $0.source) }) { first, _ in first }
        for (name, object) in made.sorted(by: { $0.key > $1.key }) where !object.source.isEmpty && name.kind != "table"
        {
            let isReplaced = name.kind == "function" && sources[name] != nil
            if sources[name] != object.source, !isReplaced { statements.append(name.removal) }
        }
        for object in wanted {
            switch made[object.name] {
            case nil: statements.append(object.source)
            case let found? where found.source != object.source && object.name.kind != "table":
                statements.append(object.source)
            default: break
            }
        }
        if let old { settle(old, new) }
    }

    /// What is shared from now on has rows already.
    private mutating func settle(_ old: SyncSchema, _ new: SyncSchema) {
        for container in new.containers where !old.containers.contains(container) {
            let account = TableSQL.quoted(container.account)
            statements.append("UPDATE \(TableSQL.quoted(container.members)) SET \(account) = \(account)")
        }
        if let partners = new.partners, old.partners == nil {
            let from = TableSQL.quoted(partners.from)
            statements.append("UPDATE \(TableSQL.quoted(partners.table)) SET \(from) = \(from)")
        }
    }

    private mutating func compare(_ old: SyncSchema, _ new: SyncSchema) {
        for table in old.tables {
            guard let now = new.tables.first(where: { $0.name == table.name }) else {
                refusals.append("The store has the table '\(table.name)', and the schema does not.")
                continue
            }
            compare(table, now)
        }
        for container in old.containers where !new.containers.contains(container) {
            refusals.append("The store shares '\(container.table)', and the schema does not, or otherwise.")
        }
        if let partners = old.partners, new.partners != partners {
            refusals.append("The store has partners in '\(partners.table)', and the schema does not, or otherwise.")
        }
    }

    private mutating func compare(_ old: SyncSchema.Table, _ new: SyncSchema.Table) {
        for column in old.columns {
            let name = "The column '\(column.name)' of '\(old.name)'"
            guard let now = new.columns.first(where: { $0.name == column.name }) else {
                refusals.append("\(name) is in the store, and not in the schema.")
                continue
            }
            if now.kind != column.kind {
                refusals.append(
                    "\(name) is \(column.kind.rawValue) in the store, and \(now.kind.rawValue) in the schema.")
            }
            if now.isRequired != column.isRequired {
                refusals.append(
                    "\(name) \(column.isRequired ? "never is" : "may be") NULL in the store, and not so here.")
            }
            if now.parent != column.parent { refusals.append("\(name) refers to something else in the store.") }
            if now.since != column.since {
                refusals.append(
                    "\(name) is of version \(column.since) in the store, and of \(now.since) in the schema.")
            }
        }
        for column in new.columns where !old.columns.contains(where: { $0.name == column.name }) {
            if column.isRequired, column.since == 1 {
                refusals.append(
                    "The column '\(column.name)' of '\(old.name)' is new and never NULL, and rows lack it: "
                        + "let it be NULL, or give it to the next version with 'since'.")
            }
        }
    }
}

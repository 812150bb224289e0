/// How rows are shared, with the columns that say so.
struct CheckedSharing: Sendable {
    struct Container: Sendable, Hashable {
        let table: String
        let members: String
        /// Of `members`: the container, the account, the role.
        let memberContainer: String
        let account: String
        let role: String
        let links: String
        /// Of `links`: the container, and what lies in it.
        let linkContainer: String
        let linkContent: String
        let content: String
    }

    /// What a table is in it.
    enum Role: Sendable, Hashable {
        case none
        case container(Container)
        case members(Container)
        case links(Container)
        case partners(SyncSchema.Partners)
    }

    let containers: [Container]
    let partners: SyncSchema.Partners?
    private let roles: [String: Role]

    func role(of table: String) -> Role { roles[table] ?? .none }

    /// The column by which rows of a table are looked for within a container, by the name of the container's column.
    func pairs(of table: String) -> [String: String] {
        switch role(of: table) {
        case .members(let container): [container.memberContainer: container.account]
        case .links(let container): [container.linkContainer: container.linkContent]
        case .none, .container, .partners: [:]
        }
    }

    /// Whether scopes of a kind have rows of a table.
    func holds(_ table: String, inKind kind: String) -> Bool {
        guard let container = containers.first(where: { $0.table == kind }) else { return true }
        return [container.table, container.members, container.links, container.content].contains(table)
    }

    /// - Throws: ``SyncSchemaError``.
    init(_ schema: SyncSchema) throws(SyncSchemaError) {
        var roles: [String: Role] = [:]
        var containers: [Container] = []
        for container in schema.containers {
            let checked = try Self.checked(container, schema)
            let taken: [(String, Role)] = [
                (checked.table, .container(checked)), (checked.members, .members(checked)),
                (checked.links, .links(checked)),
            ]
            for (table, role) in taken {
                guard roles.updateValue(role, forKey: table) == nil else {
                    throw SyncSchemaError(table, "It is part of two shared containers: one table has one part.")
                }
            }
            guard checked.content != checked.table, roles[checked.content] == nil else {
                throw SyncSchemaError(checked.content, "It lies in a container, and is part of one itself.")
            }
            containers.append(checked)
        }
        if let partners = schema.partners {
            let table = try Self.table(partners.table, schema)
            for column in [partners.from, partners.to] { try Self.requireText(column, in: table) }
            guard partners.from != partners.to, roles.updateValue(.partners(partners), forKey: table.name) == nil else {
                throw SyncSchemaError(table.name, "It cannot be the table of partners: give it two columns of its own.")
            }
        }
        (self.roles, self.containers, partners) = (roles, containers, schema.partners)
    }

    private static func checked(
        _ container: SyncSchema.SharedContainer, _ schema: SyncSchema
    ) throws(SyncSchemaError) -> Container {
        let table = try self.table(container.table, schema)
        // It is the kind of a scope.
        guard table.name != "account" else {
            throw SyncSchemaError(
                table.name, "A shared container needs another name: scopes of accounts have this one.")
        }
        let members = try self.table(container.members, schema)
        let links = try self.table(container.links, schema)
        _ = try self.table(container.content, schema)
        try requireText(container.account, in: members)
        guard members.columns.contains(where: { $0.name == container.role && $0.kind == .text }) else {
            throw SyncSchemaError(members.name, "It needs the text column '\(container.role)' for the member's role.")
        }
        return Container(
            table: table.name, members: members.name,
            memberContainer: try reference(to: table.name, in: members), account: container.account,
            role: container.role, links: links.name, linkContainer: try reference(to: table.name, in: links),
            linkContent: try reference(to: container.content, in: links), content: container.content)
    }

    private static func table(_ name: String, _ schema: SyncSchema) throws(SyncSchemaError) -> SyncSchema.Table {
        guard let table = schema.tables.first(where: { $0.name == name }) else {
            throw SyncSchemaError(name, "It is to be shared and is not among the tables: add it.")
        }
        return table
    }

    private static func requireText(_ name: String, in table: SyncSchema.Table) throws(SyncSchemaError) {
        guard table.columns.contains(where: { $0.name == name && $0.kind == .text && $0.isRequired && $0.since == 1 })
        else {
            throw SyncSchemaError(
                table.name, "It needs the column '\(name)', a text that never is NULL, for an account's id.")
        }
    }

    private static func reference(
        to parent: String, in table: SyncSchema.Table
    ) throws(SyncSchemaError) -> String {
        let found = table.columns.filter { $0.parent?.table == parent }
        guard found.count == 1, found[0].isRequired, found[0].since == 1, found[0].parent?.onDelete == .cascade else {
            throw SyncSchemaError(
                table.name,
                "It needs one column that refers to '\(parent)', is never NULL, and has ON DELETE CASCADE.")
        }
        return found[0].name
    }
}

/// The validated sharing rules, with the columns that define them.
struct CheckedSharing: Sendable {
    struct Container: Sendable, Hashable {
        let table: String
        let members: String
        /// The columns of `members`: the container, the account, and the role.
        let memberContainer: String
        let account: String
        let role: String
        let links: String
        /// The columns of `links`: the container and its content.
        let linkContainer: String
        let linkContent: String
        let content: String
    }

    /// The role of a table in sharing.
    enum Role: Sendable, Hashable {
        case none
        case container(Container)
        case members(Container)
        case links(Container)
        case partners(SyncSchema.Partners)
        case people
    }

    let containers: [Container]
    let partners: SyncSchema.Partners?
    let people: SyncSchema.People?
    private let roles: [String: Role]

    func role(of table: String) -> Role { roles[table] ?? .none }

    /// Returns the column that identifies a row within a container, by the name of the container's column.
    func pairs(of table: String) -> [String: String] {
        switch role(of: table) {
        case .members(let container): [container.memberContainer: container.account]
        case .links(let container): [container.linkContainer: container.linkContent]
        case .none, .container, .partners, .people: [:]
        }
    }

    /// Returns true if scopes of a kind contain rows of a table.
    func holds(_ table: String, inKind kind: String) -> Bool {
        guard let container = containers.first(where: { $0.table == kind }) else { return true }
        return [container.table, container.members, container.links, container.content].contains(table)
            || table == people?.table
    }

    /// Validates the sharing rules of a schema.
    ///
    /// - Throws: ``SyncSchemaError``.
    init(_ schema: SyncSchema) throws(SyncSchemaError) {
        var roles: [String: Role] = [:]
        var containers: [Container] = []
        for container in schema.containers {
            let checked = try Self.checked(container, schema: schema)
            let taken: [(String, Role)] = [
                (checked.table, .container(checked)), (checked.members, .members(checked)),
                (checked.links, .links(checked)),
            ]
            for (table, role) in taken {
                guard roles.updateValue(role, forKey: table) == nil else {
                    throw SyncSchemaError(
                        table, message: "It is part of two shared containers. A table may have only one role.")
                }
            }
            guard checked.content != checked.table, roles[checked.content] == nil else {
                throw SyncSchemaError(
                    checked.content, message: "It is the content of a container and cannot be part of one itself.")
            }
            containers.append(checked)
        }
        if let partners = schema.partners {
            let table = try Self.table(partners.table, schema: schema)
            for column in [partners.from, partners.to] { try Self.requireText(column, in: table) }
            guard partners.from != partners.to, roles.updateValue(.partners(partners), forKey: table.name) == nil else {
                throw SyncSchemaError(
                    table.name,
                    message: "It cannot be the table of partners. Use a separate table with two different columns.")
            }
        }
        if let people = schema.people {
            try Self.require(people, schema: schema)
            guard !containers.contains(where: { $0.content == people.table }),
                roles.updateValue(.people, forKey: people.table) == nil
            else {
                throw SyncSchemaError(
                    people.table, message: "It cannot be the table of people, because it is part of a container.")
            }
        }
        self.roles = roles
        self.containers = containers
        people = schema.people
        partners = schema.partners
    }

    private static func checked(
        _ container: SyncSchema.SharedContainer, schema: SyncSchema
    ) throws(SyncSchemaError) -> Container {
        let table = try self.table(container.table, schema: schema)
        // The name of the table becomes the kind of a scope.
        guard table.name != "account" else {
            throw SyncSchemaError(
                table.name, message: "A shared container needs another name, because scopes of accounts have this one.")
        }
        let members = try self.table(container.members, schema: schema)
        let links = try self.table(container.links, schema: schema)
        _ = try self.table(container.content, schema: schema)
        try requireText(container.account, in: members)
        guard members.columns.contains(where: { $0.name == container.role && $0.kind == .text }) else {
            throw SyncSchemaError(
                members.name, message: "It needs the text column '\(container.role)' for the member's role.")
        }
        return Container(
            table: table.name, members: members.name,
            memberContainer: try reference(to: table.name, in: members), account: container.account,
            role: container.role, links: links.name, linkContainer: try reference(to: table.name, in: links),
            linkContent: try reference(to: container.content, in: links), content: container.content)
    }

    private static func table(_ name: String, schema: SyncSchema) throws(SyncSchemaError) -> SyncSchema.Table {
        guard let table = schema.tables.first(where: { $0.name == name }) else {
            throw SyncSchemaError(name, message: "It is to be shared but is not among the tables. Add it.")
        }
        return table
    }

    private static func require(_ people: SyncSchema.People, schema: SyncSchema) throws(SyncSchemaError) {
        let table = try table(people.table, schema: schema)
        guard table.columns.contains(where: { $0.name == people.name && $0.kind == .text && $0.since == 1 }) else {
            throw SyncSchemaError(
                table.name, message: "It needs the text column '\(people.name)' for an account's name.")
        }
        for column in table.columns where column.name != people.name {
            guard column.parent == nil, !column.isRequired || column.defaultValue != nil else {
                throw SyncSchemaError(
                    table.name,
                    message: """
                        It cannot be the table of people, because its column '\(column.name)' is never NULL or \
                        refers to another table. Store a picture as a small BLOB or as a URL.
                        """)
            }
        }
    }

    private static func requireText(_ name: String, in table: SyncSchema.Table) throws(SyncSchemaError) {
        guard table.columns.contains(where: { $0.name == name && $0.kind == .text && $0.isRequired && $0.since == 1 })
        else {
            throw SyncSchemaError(
                table.name, message: "It needs the text column '\(name)', which is never NULL, for an account's id.")
        }
    }

    private static func reference(
        to parent: String, in table: SyncSchema.Table
    ) throws(SyncSchemaError) -> String {
        let found = table.columns.filter { $0.parent?.table == parent }
        guard found.count == 1, found[0].isRequired, found[0].since == 1, found[0].parent?.onDelete == .cascade else {
            throw SyncSchemaError(
                table.name,
                message: "It needs one column that refers to '\(parent)', is never NULL, and has ON DELETE CASCADE.")
        }
        return found[0].name
    }
}

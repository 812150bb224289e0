import LFSWire

/// What a session may do to a row of one table.
///
/// What it may not see is to it as if it were not there. Own rows are its own to write, and those of others if a grant
/// says so. Rows that say who sees what have rules of their own: the owner of a container makes and changes its
/// members, and each member may leave; editors make and remove links; an account makes the rows that let another one
/// read its own, and either of both may remove them.
struct RowRights: Sendable {
    let schema: CheckedSchema
    let table: CheckedSchema.Table

    /// Shared scopes of an account: as many of its own, and as many that others have given it.
    static let scopeLimit = 1_000
    /// Scopes that one account may give another one that gives it nothing.
    static let unacceptedLimit = 50

    private var role: CheckedSharing.Role { schema.sharing.role(of: table.name) }

    // MARK: Seeing

    /// Whether the account `?2` may read the row `t`.
    static func isVisible(_ table: String) -> String {
        """
        (EXISTS (SELECT 1 FROM sync_grant g WHERE g.accountID = ?2 AND g.scopeID = t.scopeID) OR EXISTS (
            SELECT 1 FROM sync_member m JOIN sync_grant g ON g.scopeID = m.scopeID AND g.accountID = ?2
            WHERE m.tableName = \(TableSQL.literal(table)) AND m.key = t.id AND m.isDeleted = 0))
        """
    }

    /// The scope of the account that a row belongs to; nil for a row that is not there, or that nobody shows to the
    /// session.
    static func visibleScope(
        of key: String, in table: String, _ session: SyncSession, _ db: any SQLConnection
    ) throws -> String? {
        try db.firstText(
            "SELECT t.scopeID FROM \(TableSQL.quoted(table)) t WHERE t.id = ?1 AND \(isVisible(table))",
            [.text(key), .text(session.account)])
    }

    // MARK: Writing

    /// The scope that a new row comes to lie in.
    ///
    /// - Throws: ``WireFailure/Code/forbidden``, ``WireFailure/Code/missing``.
    func scope(
        forNew mutation: SyncMutation, _ session: SyncSession, _ db: any SQLConnection
    ) throws -> String {
        let own = session.own.description
        switch role {
        case .none, .container: return own
        case .members(let container):
            guard try scope(ofContainer: mutation.row.text(container.memberContainer), container, session, db) == own
            else { throw WireFailure(.forbidden, "Only the owner of '\(container.table)' makes members.") }
            try requireAccount(mutation.row.text(container.account), db)
            return own
        case .links(let container):
            let id = mutation.row.text(container.linkContainer)
            let scope = try scope(ofContainer: id, container, session, db)
            if scope != own { try requireEditor(id, container, session, db) }
            return scope
        case .partners(let partners):
            guard mutation.row.text(partners.from) == session.account else {
                throw WireFailure(
                    .forbidden, "'\(partners.from)' has to be this account: it lets others read its own rows.")
            }
            try requireAccount(mutation.row.text(partners.to), db)
            return own
        }
    }

    /// - Parameter scope: of the row.
    /// - Throws: ``WireFailure/Code/forbidden``.
    func requireChanging(
        _ mutation: SyncMutation, in scope: String, _ session: SyncSession, _ db: any SQLConnection
    ) throws {
        try requireSamePlaces(mutation, db)
        if scope == session.own.description { return }
        switch role {
        case .none: try requireWriting(scope, session, db)
        case .links(let container):
            try requireEditor(try value(container.linkContainer, of: mutation.key, db), container, session, db)
        case .container, .members, .partners: throw Self.refusal
        }
    }

    /// - Parameter scope: of the row.
    /// - Throws: ``WireFailure/Code/forbidden``.
    func requireRemoving(
        _ key: String, in scope: String, _ session: SyncSession, _ db: any SQLConnection
    ) throws {
        if scope == session.own.description { return }
        switch role {
        case .none: try requireWriting(scope, session, db)
        case .container: throw Self.refusal
        case .links(let container):
            try requireEditor(try value(container.linkContainer, of: key, db), container, session, db)
        case .members(let container):
            guard try value(container.account, of: key, db) == session.account else { throw Self.refusal }
        case .partners(let partners):
            guard try value(partners.to, of: key, db) == session.account else { throw Self.refusal }
        }
    }

    /// A row refers only to what the session sees. Where the reference keeps its parent from being deleted, only to
    /// what is in the same account, so that nobody holds another one's rows.
    ///
    /// - Throws: ``WireFailure/Code/missing``, the same for what is not there and for what is not shown.
    func requireParents(
        _ mutation: SyncMutation, in scope: String, _ session: SyncSession, _ db: any SQLConnection
    ) throws {
        for column in table.table.columns {
            guard let parent = column.parent, let key = mutation.row.text(column.name) else { continue }
            if parent.table == table.name, key == mutation.key { continue }
            let found = try Self.visibleScope(of: key, in: parent.table, session, db)
            guard let found, found == scope || parent.onDelete != .noAction else {
                throw WireFailure(.missing, "The row that '\(column.name)' refers to is not there.")
            }
        }
    }

    /// After a row that gives accounts scopes.
    ///
    /// No row says that an account accepts what it is given. It accepts a giver by giving something in return.
    ///
    /// - Throws: `too_many`, which counts the account's own scopes by kind, and says nothing about another account's.
    func requireRoom(for mutation: SyncMutation, _ session: SyncSession, _ db: any SQLConnection) throws {
        let other: String?
        switch role {
        case .members(let container): other = try value(container.account, of: mutation.key, db)
        case .partners(let partners): other = try value(partners.to, of: mutation.key, db)
        case .none, .container, .links: return
        }
        try ScopeCount(ownedBy: session.account, db).require("This account")
        if let other, other != session.account {
            guard try ScopeCount(givenTo: other, db).isWithin else {
                throw WireFailure(.tooMany, "The other account cannot be given more: it has all that it may have.")
            }
            let given = try ScopeCount(givenTo: other, by: session.account, db).total
            let returned = try ScopeCount(givenTo: session.account, by: other, db).total
            guard given <= Self.unacceptedLimit || returned > 0 else {
                throw WireFailure(
                    .tooMany,
                    "An account that shares nothing with this one can be given \(Self.unacceptedLimit) things: "
                        + "once it shares something in return, there can be more.")
            }
        }
    }

    // MARK: Parts

    private static let refusal = WireFailure(.forbidden, "This account may not write that row.")

    private func scope(
        ofContainer id: String?, _ container: CheckedSharing.Container, _ session: SyncSession, _ db: any SQLConnection
    ) throws -> String {
        guard let id, let scope = try Self.visibleScope(of: id, in: container.table, session, db) else {
            throw WireFailure(.missing, "The '\(container.table)' that the row refers to is not there.")
        }
        return scope
    }

    private func requireAccount(_ id: String?, _ db: any SQLConnection) throws {
        guard let id, try db.firstText("SELECT id FROM sync_account WHERE id = ?1", [.text(id)]) != nil else {
            throw WireFailure(.missing, "There is no account with that id.")
        }
    }

    private func requireEditor(
        _ id: String?, _ container: CheckedSharing.Container, _ session: SyncSession, _ db: any SQLConnection
    ) throws {
        guard let id else { throw Self.refusal }
        try requireWriting("\(container.table)/\(id)", session, db)
    }

    private func requireWriting(_ scope: String, _ session: SyncSession, _ db: any SQLConnection) throws {
        let sql = "SELECT role FROM sync_grant WHERE scopeID = ?1 AND accountID = ?2 AND role <> 'viewer'"
        guard try db.firstText(sql, [.text(scope), .text(session.account)]) != nil else { throw Self.refusal }
    }

    /// Who is let in, and what lies where, is another row.
    private func requireSamePlaces(_ mutation: SyncMutation, _ db: any SQLConnection) throws {
        let columns =
            switch role {
            case .none, .container: [String]()
            case .members(let container): [container.memberContainer, container.account]
            case .links(let container): [container.linkContainer, container.linkContent]
            case .partners(let partners): [partners.from, partners.to]
            }
        for column in columns {
            guard let new = mutation.row[column] else { continue }
            guard case .text(let text) = new, try value(column, of: mutation.key, db) == text else {
                throw WireFailure(.forbidden, "'\(column)' never changes: delete the row, and make another one.")
            }
        }
    }

    private func value(_ column: String, of key: String, _ db: any SQLConnection) throws -> String? {
        try db.firstText(
            "SELECT \(TableSQL.quoted(column)) FROM \(TableSQL.quoted(table.name)) WHERE id = ?1", [.text(key)])
    }
}

/// How many shared scopes an account has given or was given, by kind.
struct ScopeCount: Sendable {
    private var counts: [(kind: String, count: Int)] = []

    /// Counts the shared scopes that an account owns.
    init(ownedBy account: String, _ db: any SQLConnection) throws {
        try self.init("SELECT scopeID FROM sync_grant WHERE accountID = ?1 AND role = 'owner'", [account], db)
    }

    /// Counts the scopes of others that an account may read.
    init(givenTo account: String, _ db: any SQLConnection) throws {
        try self.init("SELECT scopeID FROM sync_grant WHERE accountID = ?1 AND role <> 'owner'", [account], db)
    }

    /// Counts the scopes of one account that another one may read, its own rows among them.
    init(givenTo account: String, by owner: String, _ db: any SQLConnection) throws {
        try self.init(
            """
            SELECT g.scopeID FROM sync_grant g
            JOIN sync_grant o ON o.scopeID = g.scopeID AND o.accountID = ?2 AND o.role = 'owner'
            WHERE g.accountID = ?1 AND g.role <> 'owner'
            """, [account, owner], db)
    }

    private init(_ sql: String, _ accounts: [String], _ db: any SQLConnection) throws {
        var counts: [String: Int] = [:]
        let own = SyncScope.account(accounts[0]).description
        try db.query(sql, accounts.map(SQLValue.text)) { row in
            if let scope = try row.text(0).flatMap({ SyncScope($0) }), scope.description != own {
                counts[scope.kind, default: 0] += 1
            }
            return true
        }
        self.counts = counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    var total: Int { counts.reduce(0) { $0 + $1.count } }

    var isWithin: Bool { total <= RowRights.scopeLimit }

    func require(_ account: String) throws(WireFailure) {
        guard !isWithin else { return }
        let kinds = counts.map { "\($0.count) of '\($0.kind)'" }.joined(separator: ", ")
        throw WireFailure(.tooMany, "\(account) would have \(kinds), and \(RowRights.scopeLimit) in all is the most.")
    }
}

extension WireFailure.Code {
    /// More of something than there may be.
    static let tooMany = WireFailure.Code(rawValue: "too_many")
}

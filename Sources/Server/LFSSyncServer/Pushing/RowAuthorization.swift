import LFSWire

/// The rights of a session to the rows of one table.
///
/// Rows that the session may not see are treated as missing. The session may write its account's own rows, and rows of
/// other accounts if a grant permits it. Rows that control access have their own rules:
///
/// - The owner of a container creates and changes its members. Each member may leave.
/// - Editors create and delete links.
/// - An account creates the rows that let another account read its rows. Either of the two may delete them.
/// - An account changes its own row of people. The server creates it, and deletes it with the account.
struct RowAuthorization: Sendable {
    let schema: CheckedSchema
    let table: CheckedSchema.Table

    /// The maximum number of scopes that an account may give to another account that gives it nothing.
    static let unacceptedLimit = 50

    /// The maximum number of rows of one account that refer to one row of another account through one column. The
    /// deletion of that row changes them all, and has to end in time.
    static let foreignLimit = 1_000

    private var role: CheckedSharing.Role { schema.sharing.role(of: table.name) }

    // MARK: Visibility

    /// Returns an SQL condition that is true if the account `?2` may read the row `t`.
    static func isVisible(_ table: String) -> String {
        """
        (EXISTS (SELECT 1 FROM sync_grant g WHERE g.accountID = ?2 AND g.scopeID = t.scopeID) OR EXISTS (
            SELECT 1 FROM sync_member m JOIN sync_grant g ON g.scopeID = m.scopeID AND g.accountID = ?2
            WHERE m.tableName = \(TableSQL.literal(table)) AND m.key = t.id AND m.isDeleted = 0))
        """
    }

    /// Returns the account's scope that contains a row. Nil if the row does not exist or the session may not see it.
    static func visibleScope(
        of key: String, in table: String, _ session: SyncSession, _ db: any SQLConnection
    ) throws -> String? {
        try db.firstText(
            "SELECT t.scopeID FROM \(TableSQL.quoted(table)) t WHERE t.id = ?1 AND \(isVisible(table))",
            arguments: [.text(key), .text(session.account)])
    }

    // MARK: Writing

    /// The scopes of a new row.
    struct Place: Sendable {
        /// The scope of the account that owns the row.
        let scope: String
        /// The shared scope of the row's container. Nil for a row without a container, and without other members.
        var shared: SharedScope?
    }

    /// The size of a shared scope.
    struct SharedScope: Sendable {
        let id: String
        /// The number of rows in the scope.
        let entries: Int64
        /// The number of records of deletions.
        let deletions: Int64
    }

    /// Returns the scopes for a new row.
    ///
    /// - Throws: ``WireFailure/Code/forbidden``, ``WireFailure/Code/missing``.
    func place(
        forNew mutation: SyncMutation, _ session: SyncSession, _ db: any SQLConnection
    ) throws -> Place {
        let own = session.own.description
        switch role {
        case .none, .container: return Place(scope: own)
        case .members(let container):
            let id = mutation.row.text(container.memberContainer)
            let place = try place(inContainer: id, container, session: session, db)
            guard place.scope == own else {
                throw WireFailure(.forbidden, message: "Only the owner of '\(container.table)' may add members.")
            }
            try requireAccount(mutation.row.text(container.account), db)
            return place
        case .links(let container):
            let id = mutation.row.text(container.linkContainer)
            let place = try place(inContainer: id, container, session: session, db)
            if place.scope != own { try requireEditor(id, container: container, session: session, db) }
            return place
        case .partners(let partners):
            guard mutation.row.text(partners.from) == session.account else {
                throw WireFailure(
                    .forbidden,
                    message: """
                        '\(partners.from)' has to be this account, because the row lets others read the account's rows.
                        """)
            }
            try requireAccount(mutation.row.text(partners.to), db)
            return Place(scope: own)
        case .people:
            guard mutation.key == session.account else {
                throw WireFailure(.forbidden, message: "The id of a person has to be that of this account.")
            }
            return Place(scope: own)
        }
    }

    /// Checks the right to change a row.
    ///
    /// - Parameter scope: the scope of the row.
    /// - Throws: ``WireFailure/Code/forbidden``.
    func requireChanging(
        _ mutation: SyncMutation, in scope: String, session: SyncSession, _ db: any SQLConnection
    ) throws {
        try requireSamePlaces(mutation, db)
        if scope == session.own.description { return }
        switch role {
        case .none: try requireWriting(scope, session: session, db)
        case .links(let container):
            try requireEditor(
                try value(container.linkContainer, of: mutation.key, db), container: container, session: session, db)
        case .container, .members, .partners, .people: throw Self.refusal
        }
    }

    /// Checks the right to delete a row.
    ///
    /// - Parameter scope: the scope of the row.
    /// - Throws: ``WireFailure/Code/forbidden``.
    func requireRemoving(
        _ key: String, in scope: String, session: SyncSession, _ db: any SQLConnection
    ) throws {
        if case .people = role {
            throw WireFailure(.forbidden, message: "The row of a person is deleted with the account.")
        }
        if scope == session.own.description { return }
        switch role {
        case .none: try requireWriting(scope, session: session, db)
        case .container, .people: throw Self.refusal
        case .links(let container):
            try requireEditor(
                try value(container.linkContainer, of: key, db), container: container, session: session, db)
        case .members(let container):
            guard try value(container.account, of: key, db) == session.account else { throw Self.refusal }
        case .partners(let partners):
            guard try value(partners.to, of: key, db) == session.account else { throw Self.refusal }
        }
    }

    /// Checks that a row refers only to rows that the session may see. A reference that keeps its parent from being
    /// deleted must stay within one account. Otherwise an account could block the deletion of another account's rows.
    ///
    /// - Throws: ``WireFailure/Code/missing``, both for rows that do not exist and for rows that the session may not
    ///   see, ``WireFailure/Code/invalidRequest`` for a value that is not a text, and `too_many` for a row of another
    ///   account to which too many rows of this one refer.
    func requireParents(
        _ mutation: SyncMutation, in scope: String, session: SyncSession, _ db: any SQLConnection
    ) throws {
        for column in table.table.columns {
            guard let parent = column.parent, let value = mutation.row[column.name], value != .null else { continue }
            // The database would convert a number to the id of a row that was not checked.
            guard case .text(let key) = value else {
                throw WireFailure(.invalidRequest, message: "'\(column.name)' has to be the id of a row, a text.")
            }
            if parent.table == table.name, key == mutation.key { continue }
            let found = try Self.visibleScope(of: key, in: parent.table, session, db)
            guard let found, found == scope || parent.onDelete != .noAction else {
                throw WireFailure(.missing, message: "The row that '\(column.name)' refers to does not exist.")
            }
            if found != scope { try requireFew(mutation.key, in: scope, column: column.name, parent: key, db) }
        }
    }

    /// Checks that a row may refer to a row of another account. A row that already refers to it may stay.
    private func requireFew(
        _ key: String, in scope: String, column: String, parent: String, _ db: any SQLConnection
    ) throws {
        let (name, quoted) = (TableSQL.quoted(table.name), TableSQL.quoted(column))
        // Without the concatenation, SQLite would use the index of positions, and read all rows of the scope.
        let sql = """
            SELECT t.id FROM \(name) t WHERE t.\(quoted) = ?1 AND t.scopeID || '' = ?2
                AND NOT EXISTS (SELECT 1 FROM \(name) o WHERE o.id = ?3 AND o.\(quoted) = ?1)
            LIMIT 1 OFFSET \(Self.foreignLimit - 1)
            """
        guard try db.firstText(sql, arguments: [.text(parent), .text(scope), .text(key)]) == nil else {
            throw WireFailure(
                .tooMany,
                message: """
                    At most \(Self.foreignLimit) rows of an account may refer to the same row of another account by \
                    '\(column)'.
                    """)
        }
    }

    /// Checks the limits after a row was written that gives scopes to accounts.
    ///
    /// No row records that an account accepts a scope. An account accepts a giver by giving something in return.
    ///
    /// - Throws: `too_many`, which counts the account's own scopes by kind and reveals nothing about another account's.
    func requireRoom(for mutation: SyncMutation, _ session: SyncSession, _ db: any SQLConnection) throws {
        let other: String?
        switch role {
        case .members(let container): other = try value(container.account, of: mutation.key, db)
        case .partners(let partners): other = try value(partners.to, of: mutation.key, db)
        case .none, .container, .links, .people: return
        }
        try ScopeCount(ownedBy: session.account, db).require("This account")
        if let other, other != session.account {
            guard try ScopeCount(givenTo: other, db).isWithin else {
                throw WireFailure(
                    .tooMany, message: "The other account has reached its limit and cannot receive more.")
            }
            let given = try ScopeCount(givenTo: other, by: session.account, db).total
            let returned = try ScopeCount(givenTo: session.account, by: other, db).total
            guard given <= Self.unacceptedLimit || returned > 0 else {
                throw WireFailure(
                    .tooMany,
                    message: """
                        An account that shares nothing with this one can be given at most \(Self.unacceptedLimit) \
                        things. Once it shares something in return, it can be given more.
                        """)
            }
        }
    }

    // MARK: Helpers

    private static let refusal = WireFailure(.forbidden, message: "This account may not write that row.")

    /// Returns the scopes for a new row in a container.
    private func place(
        inContainer id: String?, _ container: CheckedSharing.Container, session: SyncSession, _ db: any SQLConnection
    ) throws -> Place {
        var place: Place?
        let statement = """
            SELECT t.scopeID, s.id, s.rowCount, s.deletionCount FROM \(TableSQL.quoted(container.table)) t
            LEFT JOIN sync_scope s ON s.id = '\(container.table)/' || t.id
            WHERE t.id = ?1 AND \(Self.isVisible(container.table))
            """
        try db.query(statement, arguments: [.text(id ?? ""), .text(session.account)]) { row in
            place = try row.text(0).map { Place(scope: $0) }
            if let id = try row.text(1), let entries = try row.integer(2), let deletions = try row.integer(3) {
                place?.shared = SharedScope(id: id, entries: entries, deletions: deletions)
            }
            return false
        }
        guard let place else {
            throw WireFailure(.missing, message: "The '\(container.table)' that the row refers to does not exist.")
        }
        return place
    }

    private func requireAccount(_ id: String?, _ db: any SQLConnection) throws {
        guard let id, try db.firstText("SELECT id FROM sync_account WHERE id = ?1", arguments: [.text(id)]) != nil
        else {
            throw WireFailure(.missing, message: "There is no account with that id.")
        }
    }

    private func requireEditor(
        _ id: String?, container: CheckedSharing.Container, session: SyncSession, _ db: any SQLConnection
    ) throws {
        guard let id else { throw Self.refusal }
        try requireWriting("\(container.table)/\(id)", session: session, db)
    }

    private func requireWriting(_ scope: String, session: SyncSession, _ db: any SQLConnection) throws {
        let sql = "SELECT role FROM sync_grant WHERE scopeID = ?1 AND accountID = ?2 AND role <> 'viewer'"
        guard try db.firstText(sql, arguments: [.text(scope), .text(session.account)]) != nil else {
            throw Self.refusal
        }
    }

    /// Refuses a change of the columns that determine who has access and what a container holds. Such a change requires
    /// another row.
    private func requireSamePlaces(_ mutation: SyncMutation, _ db: any SQLConnection) throws {
        let columns =
            switch role {
            case .none, .container, .people: [String]()
            case .members(let container): [container.memberContainer, container.account]
            case .links(let container): [container.linkContainer, container.linkContent]
            case .partners(let partners): [partners.from, partners.to]
            }
        for column in columns {
            guard let new = mutation.row[column] else { continue }
            guard case .text(let text) = new, try value(column, of: mutation.key, db) == text else {
                throw WireFailure(
                    .forbidden, message: "'\(column)' never changes. Delete the row, and create another one.")
            }
        }
    }

    private func value(_ column: String, of key: String, _ db: any SQLConnection) throws -> String? {
        try db.firstText(
            "SELECT \(TableSQL.quoted(column)) FROM \(TableSQL.quoted(table.name)) WHERE id = ?1",
            arguments: [.text(key)])
    }
}

/// The numbers of shared scopes that an account has given or received, by kind.
struct ScopeCount: Sendable {
    private var counts: [(kind: String, count: Int)] = []

    /// Counts the shared scopes that an account owns.
    init(ownedBy account: String, _ db: any SQLConnection) throws {
        try self.init("SELECT scopeID FROM sync_grant WHERE accountID = ?1 AND role = 'owner'", accounts: [account], db)
    }

    /// Counts the scopes of other accounts that an account may read.
    init(givenTo account: String, _ db: any SQLConnection) throws {
        try self.init(
            "SELECT scopeID FROM sync_grant WHERE accountID = ?1 AND role <> 'owner'", accounts: [account], db)
    }

    /// Counts the scopes of one account that another one may read, including its own rows.
    init(givenTo account: String, by owner: String, _ db: any SQLConnection) throws {
        try self.init(
            """
            SELECT g.scopeID FROM sync_grant g
            JOIN sync_grant o ON o.scopeID = g.scopeID AND o.accountID = ?2 AND o.role = 'owner'
            WHERE g.accountID = ?1 AND g.role <> 'owner'
            """, accounts: [account, owner], db)
    }

    private init(_ sql: String, accounts: [String], _ db: any SQLConnection) throws {
        var counts: [String: Int] = [:]
        let own = SyncScope.account(accounts[0]).description
        try db.query(sql, arguments: accounts.map(SQLValue.text)) { row in
            if let scope = try row.text(0).flatMap({ SyncScope($0) }), scope.description != own {
                counts[scope.kind, default: 0] += 1
            }
            return true
        }
        self.counts = counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    var total: Int { counts.reduce(0) { $0 + $1.count } }

    var isWithin: Bool { total <= AccountLimit.sharedScopes }

    func require(_ account: String) throws(WireFailure) {
        guard !isWithin else { return }
        let kinds = counts.map { "\($0.count) of '\($0.kind)'" }.joined(separator: ", ")
        throw WireFailure(
            .tooMany,
            message: "\(account) would have \(kinds), and the limit is \(AccountLimit.sharedScopes) in all.")
    }
}

extension WireFailure.Code {
    /// A number exceeds its limit.
    static let tooMany = WireFailure.Code(rawValue: "too_many")
}

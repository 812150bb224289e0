/// The SQL of the triggers that maintain the scopes of shared containers: who may read a scope, and what it contains.
///
/// Each trigger updates a part of `sync_grant` and `sync_member` to match the tables. The result therefore does not
/// depend on the order in which triggers run, nor on how many times they run.
struct ContainerSQL: Sendable {
    let container: CheckedSharing.Container
    let dialect: SQLDialect

    var table: String { TableSQL.quoted(container.table) }
    private var members: String { TableSQL.quoted(container.members) }
    var links: String { TableSQL.quoted(container.links) }
    var content: String { TableSQL.quoted(container.content) }
    private var memberContainer: String { TableSQL.quoted(container.memberContainer) }
    private var account: String { TableSQL.quoted(container.account) }
    var linkContainer: String { TableSQL.quoted(container.linkContainer) }
    var linkContent: String { TableSQL.quoted(container.linkContent) }

    /// Returns SQL for the scope of a container's id.
    func scope(_ id: String) -> String { "'\(container.table)/' || \(id)" }

    /// Returns SQL for the id of a scope's container. A comparison of ids can use an index, but a comparison of scopes
    /// cannot.
    func id(_ scope: String) -> String { "substr(\(scope), \(container.table.utf8.count + 2))" }

    /// The statements that create the triggers.
    var triggers: [String] {
        let role = TableSQL.quoted(container.role)
        let differs = dialect.differs
        let movesLink = """
            OLD.\(linkContainer) \(differs) NEW.\(linkContainer) OR OLD.\(linkContent) \(differs) NEW.\(linkContent)
            """
        let movesMember = ["id", memberContainer, account].map { "OLD.\($0) \(differs) NEW.\($0)" }
        return [
            joining("joined", event: "AFTER INSERT", row: "NEW"), joining("left", event: "AFTER DELETE", row: "OLD"),
            joining("changed", event: "AFTER UPDATE OF id, \(memberContainer), \(account), \(role)", row: "NEW"),
            joining(
                "departed", event: "AFTER UPDATE OF id, \(memberContainer), \(account)",
                when: movesMember.joined(separator: " OR "), row: "OLD"),
            // Members that move together with their container are already in its account.
            joining(
                "strayed", event: "AFTER UPDATE OF scopeID",
                when: "NEW.scopeID \(differs) (SELECT scopeID FROM \(table) WHERE id = NEW.\(memberContainer))",
                row: "NEW"),
            granting("granted", event: "AFTER INSERT", row: "NEW", change: .entering),
            granting("revoked", event: "AFTER DELETE", row: "OLD", change: .leaving),
            linking("linked", event: "AFTER INSERT", row: "NEW"),
            linking("unlinked", event: "AFTER DELETE", row: "OLD"),
            linking("relinked", event: "AFTER UPDATE OF id, \(linkContainer), \(linkContent), scopeID", row: "NEW"),
            linking("moved", event: "AFTER UPDATE OF \(linkContainer), \(linkContent)", when: movesLink, row: "OLD"),
            // Before the deletion of the links, whose triggers then have nothing to do: their scope no longer exists.
            make(
                container.table, role: "unshared", event: "BEFORE DELETE",
                holding: "SELECT OLD.scopeID UNION SELECT \(scope("OLD.id"))",
                "DELETE FROM sync_scope WHERE id = \(scope("OLD.id"));"),
            make(
                container.table, role: "given", event: "AFTER UPDATE OF scopeID",
                when: "OLD.scopeID \(differs) NEW.scopeID",
                holding: "\(readers("NEW.id")) UNION SELECT OLD.scopeID",
                """
                UPDATE \(members) SET scopeID = NEW.scopeID WHERE \(memberContainer) = NEW.id AND scopeID = OLD.scopeID;
                UPDATE \(links) SET scopeID = NEW.scopeID WHERE \(linkContainer) = NEW.id AND scopeID = OLD.scopeID;
                \(settled("NEW.id"))
                \(begunAnew("id = \(scope("NEW.id"))"))
                """),
            make(
                container.content, role: "\(container.table)_given", event: "AFTER UPDATE OF scopeID",
                when: "OLD.scopeID \(differs) NEW.scopeID",
                holding: """
                    SELECT c.scopeID FROM \(links) l JOIN \(table) c ON c.id = l.\(linkContainer)
                    WHERE l.\(linkContent) = NEW.id
                    UNION SELECT \(scope("l." + linkContainer)) FROM \(links) l WHERE l.\(linkContent) = NEW.id
                    UNION SELECT OLD.scopeID UNION SELECT NEW.scopeID
                    """,
                entries(
                    ofLinks: "key IN (SELECT id FROM \(links) WHERE \(linkContent) = NEW.id)",
                    "l.\(linkContent) = NEW.id")
                    + "\n    " + entries(ofContent: "key = NEW.id", "l.\(linkContent) = NEW.id") + "\n    "
                    + begunAnew("id IN (SELECT \(scope(linkContainer)) FROM \(links) WHERE \(linkContent) = NEW.id)")),
        ].flatMap(\.self)
    }

    private func joining(_ role: String, event: String, when: String? = nil, row: String) -> [String] {
        make(container.members, role: role, event: event, when: when, holding: scopes(ofMember: row), joined(row))
    }

    /// Returns triggers that make links follow the grants. A link counts while the account that owns its content may
    /// read the container. A change of a role does not affect links.
    private func granting(_ role: String, event: String, row: String, change: Change) -> [String] {
        let kind = "\(container.table)/"
        // Deleting a scope also deletes its entries.
        let isOfKind = """
            substr(\(row).scopeID, 1, \(kind.utf8.count)) = '\(kind)'
                AND EXISTS (SELECT 1 FROM sync_scope WHERE id = \(row).scopeID)
            """
        return ScopeSQL(dialect: dialect).make(
            "sync_\(container.table)_\(role)", table: "sync_grant", event: event, when: isOfKind,
            holding: "SELECT \(row).scopeID", granted(row, change: change))
    }

    /// Returns triggers that update the entries of a changed link. A link of a container that is not shared has no
    /// entry, because only the scope of its account contains it.
    private func linking(_ role: String, event: String, when: String? = nil, row: String) -> [String] {
        let scopes = """
            SELECT c.scopeID FROM \(table) c WHERE c.id = \(row).\(linkContainer)
            UNION SELECT f.scopeID FROM \(content) f WHERE f.id = \(row).\(linkContent)
            UNION SELECT \(scope("\(row).\(linkContainer)"))
            """
        let isShared = "EXISTS (SELECT 1 FROM sync_scope WHERE id = \(scope("\(row).\(linkContainer)")))"
        switch dialect {
        case .sqlite:
            let condition = [when.map { "(\($0))" }, isShared].compactMap(\.self).joined(separator: " AND ")
            return make(container.links, role: role, event: event, when: condition, holding: scopes, linked(row))
        case .postgres:
            // Another transaction may just share the container. Its result is visible only after the locks of the
            // scopes are acquired, so the condition is checked within the body.
            let body = "IF \(isShared) THEN\n    \(linked(row))\n    END IF;"
            return make(container.links, role: role, event: event, when: when, holding: scopes, body)
        }
    }

    private func make(
        _ table: String, role: String, event: String, when: String? = nil, holding scopes: String, _ body: String
    ) -> [String] {
        ScopeSQL(dialect: dialect).make(
            "sync_\(table)_\(role)", table: table, event: event, when: when, holding: scopes, body)
    }

    /// Returns a query for the scopes of a container: its own, and those of the accounts whose rows it may contain.
    private func readers(_ id: String) -> String {
        """
        SELECT c.scopeID FROM \(table) c WHERE c.id = \(id)
        UNION SELECT 'account/' || m.\(account) FROM \(members) m WHERE m.\(memberContainer) = \(id)
        UNION SELECT \(scope(id))
        """
    }

    /// Returns a query for the scopes that a member's row affects: those of the container, and that of the account if
    /// it gains or loses the right to read the container. A change of a role does not block another account.
    private func scopes(ofMember row: String) -> String {
        let id = "\(row).\(memberContainer)"
        let isMember = memberships("m.\(memberContainer) = \(id) AND m.\(account) = \(row).\(account)")
        let isReader = "SELECT 1 FROM sync_grant WHERE scopeID = \(scope(id)) AND accountID = \(row).\(account)"
        return """
            SELECT c.scopeID FROM \(table) c WHERE c.id = \(id)
            UNION SELECT 'account/' || \(row).\(account) WHERE EXISTS (\(isMember)) <> EXISTS (\(isReader))
            UNION SELECT \(scope(id))
            """
    }

    /// Returns a statement that makes the readers of a scope start it over. A reader does not receive its own rows
    /// through a shared scope. When a row changes its owner, readers find that out by starting over.
    private func begunAnew(_ condition: String) -> String {
        "UPDATE sync_scope SET prunedThrough = head WHERE \(condition);"
    }

    // MARK: Whole containers

    /// Returns statements that update a container's scope, its grants and its entries to match the tables.
    private func settled(_ id: String) -> String {
        let scope = scope(id)
        let here = "scopeID = \(scope)"
        return """
            \(existence(id))
            \(grants(id))
            \(entry(ofContainer: id))
            \(entries(
                ofMembers: here,
                from: "SELECT \(scope) AS s, m.id AS k FROM \(membershipsJoin) WHERE m.\(memberContainer) = \(id)"))
            \(entries(ofLinks: here, "l.\(linkContainer) = \(id)", all: scope))
            \(entries(ofContent: here, "l.\(linkContainer) = \(id)", all: scope))
            """
    }

    /// Returns statements that update the container's scope, and the grant and the entry of one member, to match the
    /// tables. A new scope also receives its other members.
    private func joined(_ row: String) -> String {
        let id = "\(row).\(memberContainer)"
        let scope = scope(id)
        let isNew = """
            NOT EXISTS (SELECT 1 FROM sync_member e
                        WHERE e.scopeID = \(scope) AND e.tableName = '\(container.table)' AND e.key = \(id))
            """
        let ofRow =
            "SELECT \(scope) AS s, m.id AS k FROM \(membershipsJoin) WHERE m.id = \(row).id"
            + " AND m.\(memberContainer) = \(id)"
        // SQLite evaluates the condition once, before the members.
        let others = """
            SELECT o.id AS s, m.id AS k FROM sync_scope o CROSS JOIN \(membershipsJoin)
                    WHERE o.id = \(scope) AND m.\(memberContainer) = \(id) AND \(isNew)
            """
        return """
            \(existence(id))
            \(grants(id, of: "\(row).\(account)"))
            \(entries(ofMembers: "scopeID = \(scope) AND key = \(row).id", from: ofRow))
            \(entries(ofMembers: "scopeID = \(scope) AND key = \(row).id", .entering, from: others))
            \(entry(ofContainer: id))
            """
    }

    private func entry(ofContainer id: String) -> String {
        entries(
            of: container.table, "scopeID = \(scope(id)) AND key = \(id)",
            isIn: { s, key in "EXISTS (SELECT 1 FROM \(table) c WHERE c.id = \(key) AND \(scope("c.id")) = \(s))" },
            from: "SELECT \(scope(id)) AS s, c.id AS k FROM \(table) c WHERE c.id = \(id)")
    }

    private func entries(ofMembers entry: String, _ change: Change = .any, from source: String) -> String {
        entries(
            of: container.members, entry, change: change,
            isIn: { s, key in "EXISTS (\(memberships("m.id = \(key) AND c.id = \(id(s))")))" }, from: source)
    }

    /// The join of members with their containers. A member's row counts only in the account of its container, so that
    /// no account can make itself a member.
    private var membershipsJoin: String {
        "\(members) m JOIN \(table) c ON c.id = m.\(memberContainer) AND c.scopeID = m.scopeID"
    }

    private func memberships(_ condition: String) -> String {
        "SELECT 1 FROM \(membershipsJoin) WHERE \(condition)"
    }

    private func existence(_ id: String) -> String {
        let scope = scope(id)
        let isShared = """
            EXISTS (SELECT 1 FROM \(membershipsJoin) JOIN sync_account a ON a.id = m.\(account)
                    WHERE m.\(memberContainer) = \(id) AND 'account/' || a.id <> c.scopeID)
            """
        let isNew = "id = \(scope) AND prunedThrough = ''"
        return """
            DELETE FROM sync_scope WHERE id = \(scope) AND NOT \(isShared);
                INSERT INTO sync_scope (id, clock) SELECT \(scope), scopeClock FROM sync_state
                WHERE \(isShared) AND NOT EXISTS (SELECT 1 FROM sync_scope WHERE id = \(scope));
                \(dialect == .sqlite ? TableSQL.advance(isNew) : PostgresOrder.begin(isNew))
                UPDATE sync_scope SET prunedThrough = head WHERE \(isNew);
            """
    }

    /// - Parameter account: the account whose grant may change, besides the owner's. Nil for all accounts.
    private func grants(_ id: String, of account: String? = nil) -> String {
        let scope = scope(id)
        let these =
            account.map { account in
                """
                 AND accountID IN (\(account), (SELECT substr(c.scopeID, 9) FROM \(table) c WHERE c.id = \(id)))
                """
            } ?? ""
        let isOwner =
            "SELECT 'owner' FROM \(table) c WHERE c.id = \(id) AND c.scopeID = 'account/' || sync_grant.accountID"
        let isMember = """
            SELECT min(CASE m.\(TableSQL.quoted(container.role)) WHEN 'editor' THEN 'editor' ELSE 'viewer' END)
                    FROM \(membershipsJoin)
                    WHERE m.\(memberContainer) = \(id) AND m.\(self.account) = sync_grant.accountID
            """
        let role = "coalesce((\(isOwner)), (\(isMember)))"
        let isThis = account.map { " AND m.\(self.account) = \($0)" } ?? ""
        return """
            DELETE FROM sync_grant WHERE scopeID = \(scope)\(these) AND \(role) IS NULL;
                INSERT INTO sync_grant (scopeID, accountID, role) SELECT s.id, a.id, 'viewer'
                FROM sync_scope s CROSS JOIN sync_account a WHERE s.id = \(scope) AND a.id IN (
                    SELECT m.\(self.account) FROM \(membershipsJoin) WHERE m.\(memberContainer) = \(id)\(isThis)
                    UNION SELECT substr(c.scopeID, 9) FROM \(table) c WHERE c.id = \(id))
                AND NOT EXISTS (SELECT 1 FROM sync_grant g WHERE g.scopeID = s.id AND g.accountID = a.id);
                UPDATE sync_grant SET role = \(role) WHERE scopeID = \(scope)\(these) AND role <> \(role);
            """
    }
}

/// The triggers that keep the scopes of shared containers: who may read them, and what lies in them.
///
/// Each brings a part of `sync_grant` and `sync_member` to what the tables say, so that none depends on which of them
/// runs first, nor on how often.
struct ContainerSQL: Sendable {
    let container: CheckedSharing.Container
    let dialect: SQLDialect

    private var table: String { TableSQL.quoted(container.table) }
    private var members: String { TableSQL.quoted(container.members) }
    private var links: String { TableSQL.quoted(container.links) }
    private var content: String { TableSQL.quoted(container.content) }
    private var memberContainer: String { TableSQL.quoted(container.memberContainer) }
    private var account: String { TableSQL.quoted(container.account) }
    private var linkContainer: String { TableSQL.quoted(container.linkContainer) }
    private var linkContent: String { TableSQL.quoted(container.linkContent) }

    /// The scope of a container's id.
    private func scope(_ id: String) -> String { "'\(container.table)/' || \(id)" }

    /// The id of the container whose scope it is: an index leads to it, which no comparison of scopes has.
    private func id(_ scope: String) -> String { "substr(\(scope), \(container.table.utf8.count + 2))" }

    /// Statements that make them.
    var triggers: [String] {
        let role = TableSQL.quoted(container.role)
        let differs = dialect.differs
        let movesLink = """
            OLD.\(linkContainer) \(differs) NEW.\(linkContainer) OR OLD.\(linkContent) \(differs) NEW.\(linkContent)
            """
        let movesMember = ["id", memberContainer, account].map { "OLD.\($0) \(differs) NEW.\($0)" }
        return [
            joining("joined", "AFTER INSERT", "NEW"), joining("left", "AFTER DELETE", "OLD"),
            joining("changed", "AFTER UPDATE OF id, \(memberContainer), \(account), \(role)", "NEW"),
            joining(
                "departed", "AFTER UPDATE OF id, \(memberContainer), \(account)",
                when: movesMember.joined(separator: " OR "), "OLD"),
            // Those that go along with their container are in its account already.
            joining(
                "strayed", "AFTER UPDATE OF scopeID",
                when: "NEW.scopeID \(differs) (SELECT scopeID FROM \(table) WHERE id = NEW.\(memberContainer))", "NEW"),
            granting("granted", "AFTER INSERT", "NEW", .entering), granting("revoked", "AFTER DELETE", "OLD", .leaving),
            linking("linked", "AFTER INSERT", "NEW"), linking("unlinked", "AFTER DELETE", "OLD"),
            linking("relinked", "AFTER UPDATE OF id, \(linkContainer), \(linkContent), scopeID", "NEW"),
            linking("moved", "AFTER UPDATE OF \(linkContainer), \(linkContent)", when: movesLink, "OLD"),
            make(
                container.table, "unshared", "AFTER DELETE", holding: "SELECT \(scope("OLD.id"))",
                "DELETE FROM sync_scope WHERE id = \(scope("OLD.id"));"),
            make(
                container.table, "given", "AFTER UPDATE OF scopeID", when: "OLD.scopeID \(differs) NEW.scopeID",
                holding: "\(readers("NEW.id")) UNION SELECT OLD.scopeID",
                """
                UPDATE \(members) SET scopeID = NEW.scopeID WHERE \(memberContainer) = NEW.id AND scopeID = OLD.scopeID;
                UPDATE \(links) SET scopeID = NEW.scopeID WHERE \(linkContainer) = NEW.id AND scopeID = OLD.scopeID;
                \(settled("NEW.id"))
                \(begunAnew("id = \(scope("NEW.id"))"))
                """),
            make(
                container.content, "\(container.table)_given", "AFTER UPDATE OF scopeID",
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

    private func joining(_ role: String, _ event: String, when: String? = nil, _ row: String) -> [String] {
        make(container.members, role, event, when: when, holding: scopes(ofMember: row), joined(row))
    }

    /// A link counts while the account that owns its content reads the container. So links follow the grants: a change
    /// of a role is none of them.
    private func granting(_ role: String, _ event: String, _ row: String, _ change: Change) -> [String] {
        let kind = "\(container.table)/"
        // A scope that is deleted takes its entries along.
        let isOfKind = """
            substr(\(row).scopeID, 1, \(kind.utf8.count)) = '\(kind)'
                AND EXISTS (SELECT 1 FROM sync_scope WHERE id = \(row).scopeID)
            """
        return ScopeSQL(dialect: dialect).make(
            "sync_\(container.table)_\(role)", "sync_grant", event, when: isOfKind, granted(row, change))
    }

    private func linking(_ role: String, _ event: String, when: String? = nil, _ row: String) -> [String] {
        let scopes = """
            SELECT c.scopeID FROM \(table) c WHERE c.id = \(row).\(linkContainer)
            UNION SELECT f.scopeID FROM \(content) f WHERE f.id = \(row).\(linkContent)
            UNION SELECT \(scope("\(row).\(linkContainer)"))
            """
        return make(container.links, role, event, when: when, holding: scopes, linked(row))
    }

    private func make(
        _ table: String, _ role: String, _ event: String, when: String? = nil, holding scopes: String, _ body: String
    ) -> [String] {
        ScopeSQL(dialect: dialect).make(
            "sync_\(table)_\(role)", table, event, when: when, holding: scopes, body)
    }

    /// The scopes of a container: its own, and those in which lies what it may contain.
    private func readers(_ id: String) -> String {
        """
        SELECT c.scopeID FROM \(table) c WHERE c.id = \(id)
        UNION SELECT 'account/' || m.\(account) FROM \(members) m WHERE m.\(memberContainer) = \(id)
        UNION SELECT \(scope(id))
        """
    }

    /// The scopes that a member's row is about: of the container, and of the account where it comes to read the
    /// container or ceases to. A change of a role keeps no other account waiting.
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

    /// What somebody reads as his own he does not have by the scope any more: readers begin it anew, and find out.
    private func begunAnew(_ condition: String) -> String {
        "UPDATE sync_scope SET prunedThrough = head WHERE \(condition);"
    }

    // MARK: A container as a whole

    /// Brings a container's scope, its grants and all that lies in it to what the tables say.
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
            \(entries(ofLinks: here, "l.\(linkContainer) = \(id)"))
            \(entries(ofContent: here, "l.\(linkContainer) = \(id)"))
            """
    }

    /// Brings the container's scope, and the grant and the entry of one member, to what the tables say. A scope that
    /// has just come to be gets its other members too.
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
        // SQLite looks at the condition once, before the members.
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
            of: container.members, entry, change,
            isIn: { s, key in "EXISTS (\(memberships("m.id = \(key) AND c.id = \(id(s))")))" }, from: source)
    }

    /// A member's row counts in the account of its container: nobody makes himself a member.
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

    /// - Parameter account: the one whose grant may be another, besides the owner's; nil for all.
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

    // MARK: What lies in it

    /// Brings the entries of one link, and of what it leads to in its container, to what the tables say. What else the
    /// content lies in does not depend on this link: there may be thousands.
    private func linked(_ row: String) -> String {
        let entry = "scopeID = \(scope("\(row).\(linkContainer)")) AND key = \(row).\(linkContent)"
        let link = """
            l.\(linkContent) = \(row).\(linkContent) AND l.\(linkContainer) = \(row).\(linkContainer)
            """
        return """
            \(entries(ofLinks: "key = \(row).id", "l.id = \(row).id"))
            \(entries(ofContent: entry, link))
            """
    }

    /// Brings the entries of all that an account owns in a container to what its grant says.
    private func granted(_ row: String, _ change: Change) -> String {
        let id = id("\(row).scopeID")
        let join = "\(links) l \(dialect.inOrder) \(content) f ON f.id = l.\(linkContent)"
        let owned = "l.\(linkContainer) = \(id) AND f.scopeID = 'account/' || \(row).accountID"
        let here = "scopeID = \(row).scopeID AND key IN"
        let link = "\(owned) AND g.accountID = \(row).accountID"
        return """
            \(entries(ofLinks: "\(here) (SELECT l.id FROM \(join) WHERE \(owned))", link, change))
            \(entries(ofContent: "\(here) (SELECT l.\(linkContent) FROM \(join) WHERE \(owned))", link, change))
            """
    }

    /// The links that count: in the account of their container, to what one of its readers owns.
    private func counting(_ condition: String) -> String {
        """
        \(links) l \(dialect.inOrder) \(content) f ON f.id = l.\(linkContent)
                    JOIN \(table) c ON c.id = l.\(linkContainer) AND c.scopeID = l.scopeID
                    JOIN sync_grant g ON g.accountID = substr(f.scopeID, 9) AND g.scopeID = \(scope("c.id"))
                    WHERE \(condition)
        """
    }

    private func entries(ofLinks entry: String, _ link: String, _ change: Change = .any) -> String {
        entries(
            of: container.links, entry, change,
            isIn: { s, key in
                "EXISTS (SELECT 1 FROM \(counting("l.id = \(key) AND c.id = \(id(s)) AND g.scopeID = \(s)")))"
            },
            from: "SELECT g.scopeID AS s, l.id AS k FROM \(counting(link))")
    }

    private func entries(ofContent entry: String, _ link: String, _ change: Change = .any) -> String {
        entries(
            of: container.content, entry, change,
            isIn: { s, key in
                let here = "l.\(linkContent) = \(key) AND c.id = \(id(s)) AND g.scopeID = \(s)"
                return "EXISTS (SELECT 1 FROM \(counting(here)))"
            }, from: "SELECT g.scopeID AS s, l.\(linkContent) AS k FROM \(counting(link))")
    }

    /// The ways in which entries may have changed.
    private enum Change {
        case any, entering, leaving
    }

    /// Brings entries of one table to what the tables say. Each that changes gets a position of its own.
    ///
    /// - Parameters:
    ///   - entry: which entries it is about.
    ///   - change: the changes that are possible.
    ///   - isIn: whether a scope contains a key.
    ///   - source: the scopes `s` and keys `k` that it is about and that are in.
    private func entries(
        of name: String, _ entry: String, _ change: Change = .any, isIn: (String, String) -> String,
        from source: String
    ) -> String {
        let isIn = isIn("sync_member.scopeID", "sync_member.key")
        let kind = "\(container.table)/"
        let these = """
            \(entry) AND tableName = '\(name)' AND substr(scopeID, 1, \(kind.utf8.count)) = '\(kind)'
            """
        let leaving =
            "UPDATE sync_member SET isDeleted = 1, updateID = '' WHERE \(these) AND isDeleted = 0 AND NOT \(isIn);"
        let entering = """
            UPDATE sync_member SET isDeleted = 0, updateID = '' WHERE \(these) AND isDeleted = 1 AND \(isIn);
                INSERT INTO sync_member (scopeID, tableName, key, updateID) SELECT DISTINCT x.s, '\(name)', x.k, ''
                FROM (\(source)) x JOIN sync_scope o ON o.id = x.s
                WHERE NOT EXISTS (
                    SELECT 1 FROM sync_member e WHERE e.scopeID = x.s AND e.tableName = '\(name)' AND e.key = x.k);
            """
        return switch change {
        case .any: leaving + "\n    " + entering
        case .entering: entering
        case .leaving: leaving
        }
    }
}

/// The triggers that keep the scopes of shared containers: who may read them, and what lies in them.
///
/// Each brings a part of `sync_grant` and `sync_member` to what the tables say, so that none depends on which of them
/// runs first, nor on how often.
struct ContainerSQL: Sendable {
    let container: CheckedSharing.Container

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

    /// All of them, for the statement that makes each.
    var triggers: [ScopeSQL.Trigger] {
        let role = TableSQL.quoted(container.role)
        let movesLink =
            "OLD.\(linkContainer) IS NOT NEW.\(linkContainer) OR OLD.\(linkContent) IS NOT NEW.\(linkContent)"
        return [
            make(container.members, "joined", "AFTER INSERT", settled("NEW.\(memberContainer)")),
            make(container.members, "left", "AFTER DELETE", settled("OLD.\(memberContainer)")),
            make(
                container.members, "changed", "AFTER UPDATE OF id, \(memberContainer), \(account), \(role)",
                settled("NEW.\(memberContainer)")),
            make(
                container.members, "departed", "AFTER UPDATE OF \(memberContainer)",
                when: "OLD.\(memberContainer) IS NOT NEW.\(memberContainer)", settled("OLD.\(memberContainer)")),
            // Those that go along with their container are in its account already.
            make(
                container.members, "strayed", "AFTER UPDATE OF scopeID",
                when: "NEW.scopeID IS NOT (SELECT scopeID FROM \(table) WHERE id = NEW.\(memberContainer))",
                settled("NEW.\(memberContainer)")),
            make(container.links, "linked", "AFTER INSERT", linked("NEW")),
            make(container.links, "unlinked", "AFTER DELETE", linked("OLD")),
            make(
                container.links, "relinked", "AFTER UPDATE OF id, \(linkContainer), \(linkContent), scopeID",
                linked("NEW")),
            make(
                container.links, "moved", "AFTER UPDATE OF \(linkContainer), \(linkContent)", when: movesLink,
                linked("OLD")),
            make(
                container.table, "unshared", "AFTER DELETE", "DELETE FROM sync_scope WHERE id = \(scope("OLD.id"));"),
            make(
                container.table, "given", "AFTER UPDATE OF scopeID", when: "OLD.scopeID IS NOT NEW.scopeID",
                """
                UPDATE \(members) SET scopeID = NEW.scopeID WHERE \(memberContainer) = NEW.id AND scopeID = OLD.scopeID;
                UPDATE \(links) SET scopeID = NEW.scopeID WHERE \(linkContainer) = NEW.id AND scopeID = OLD.scopeID;
                \(settled("NEW.id"))
                \(begunAnew("id = \(scope("NEW.id"))"))
                """),
            make(
                container.content, "\(container.table)_given", "AFTER UPDATE OF scopeID",
                when: "OLD.scopeID IS NOT NEW.scopeID",
                entries(
                    ofLinks: "key IN (SELECT id FROM \(links) WHERE \(linkContent) = NEW.id)",
                    "l.\(linkContent) = NEW.id")
                    + "\n    " + entries(ofContent: "key = NEW.id", "l.\(linkContent) = NEW.id") + "\n    "
                    + begunAnew("id IN (SELECT \(scope(linkContainer)) FROM \(links) WHERE \(linkContent) = NEW.id)")),
        ]
    }

    private func make(
        _ table: String, _ role: String, _ event: String, when: String? = nil, _ body: String
    ) -> ScopeSQL.Trigger {
        ScopeSQL.make("sync_\(table)_\(role)", table, event, when: when, body)
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
            \(entries(of: container.table, here, isIn: { s, key in
                "EXISTS (SELECT 1 FROM \(table) c WHERE c.id = \(key) AND \(self.scope("c.id")) = \(s))"
            }, from: "SELECT \(scope) AS s, c.id AS k FROM \(table) c WHERE c.id = \(id)"))
            \(entries(of: container.members, here, isIn: { s, key in
                "EXISTS (\(memberships("m.id = \(key) AND \(self.scope("c.id")) = \(s)")))"
            }, from: "SELECT \(scope) AS s, m.id AS k FROM \(membershipsJoin) WHERE m.\(memberContainer) = \(id)"))
            \(entries(ofLinks: here, "l.\(linkContainer) = \(id)"))
            \(entries(ofContent: here, "l.\(linkContainer) = \(id)"))
            """
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
                \(TableSQL.advance(isNew))
                UPDATE sync_scope SET prunedThrough = head WHERE \(isNew);
            """
    }

    private func grants(_ id: String) -> String {
        let scope = scope(id)
        let isOwner =
            "SELECT 'owner' FROM \(table) c WHERE c.id = \(id) AND c.scopeID = 'account/' || sync_grant.accountID"
        let isMember = """
            SELECT min(CASE m.\(TableSQL.quoted(container.role)) WHEN 'editor' THEN 'editor' ELSE 'viewer' END)
                    FROM \(membershipsJoin) WHERE m.\(memberContainer) = \(id) AND m.\(account) = sync_grant.accountID
            """
        let role = "coalesce((\(isOwner)), (\(isMember)))"
        return """
            DELETE FROM sync_grant WHERE scopeID = \(scope) AND \(role) IS NULL;
                INSERT INTO sync_grant (scopeID, accountID, role) SELECT s.id, a.id, 'viewer'
                FROM sync_scope s CROSS JOIN sync_account a WHERE s.id = \(scope) AND a.id IN (
                    SELECT m.\(account) FROM \(membershipsJoin) WHERE m.\(memberContainer) = \(id)
                    UNION SELECT substr(c.scopeID, 9) FROM \(table) c WHERE c.id = \(id))
                AND NOT EXISTS (SELECT 1 FROM sync_grant g WHERE g.scopeID = s.id AND g.accountID = a.id);
                UPDATE sync_grant SET role = \(role) WHERE scopeID = \(scope) AND role <> \(role);
            """
    }

    // MARK: What lies in it

    /// Brings the entries of one link, and of what it leads to, to what the tables say.
    private func linked(_ row: String) -> String {
        """
        \(entries(ofLinks: "key = \(row).id", "l.id = \(row).id"))
            \(entries(ofContent: "key = \(row).\(linkContent)", "l.\(linkContent) = \(row).\(linkContent)"))
        """
    }

    /// The links that count: in the account of their container, to what one of its readers owns.
    private func counting(_ condition: String) -> String {
        """
        \(links) l JOIN \(content) f ON f.id = l.\(linkContent)
                    JOIN \(table) c ON c.id = l.\(linkContainer) AND c.scopeID = l.scopeID
                    JOIN sync_grant g ON g.accountID = substr(f.scopeID, 9) AND g.scopeID = \(scope("c.id"))
                    WHERE \(condition)
        """
    }

    private func entries(ofLinks entry: String, _ link: String) -> String {
        entries(
            of: container.links, entry,
            isIn: { s, key in "EXISTS (SELECT 1 FROM \(counting("l.id = \(key) AND g.scopeID = \(s)")))" },
            from: "SELECT g.scopeID AS s, l.id AS k FROM \(counting(link))")
    }

    private func entries(ofContent entry: String, _ link: String) -> String {
        entries(
            of: container.content, entry,
            isIn: { s, key in
                "EXISTS (SELECT 1 FROM \(counting("l.\(linkContent) = \(key) AND g.scopeID = \(s)")))"
            }, from: "SELECT g.scopeID AS s, l.\(linkContent) AS k FROM \(counting(link))")
    }

    /// Brings entries of one table to what the tables say. Each that changes gets a position of its own.
    ///
    /// - Parameters:
    ///   - entry: which entries it is about.
    ///   - isIn: whether a scope contains a key.
    ///   - source: the scopes `s` and keys `k` that it is about and that are in.
    private func entries(
        of name: String, _ entry: String, isIn: (String, String) -> String, from source: String
    ) -> String {
        let isIn = isIn("sync_member.scopeID", "sync_member.key")
        let kind = "\(container.table)/"
        let these = """
            \(entry) AND tableName = '\(name)' AND substr(scopeID, 1, \(kind.utf8.count)) = '\(kind)'
            """
        return """
            UPDATE sync_member SET isDeleted = 1, updateID = '' WHERE \(these) AND isDeleted = 0 AND NOT \(isIn);
                UPDATE sync_member SET isDeleted = 0, updateID = '' WHERE \(these) AND isDeleted = 1 AND \(isIn);
                INSERT INTO sync_member (scopeID, tableName, key, updateID) SELECT DISTINCT x.s, '\(name)', x.k, ''
                FROM (\(source)) x JOIN sync_scope o ON o.id = x.s
                WHERE NOT EXISTS (
                    SELECT 1 FROM sync_member e WHERE e.scopeID = x.s AND e.tableName = '\(name)' AND e.key = x.k);
            """
    }
}

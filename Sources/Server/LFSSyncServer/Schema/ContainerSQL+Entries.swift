/// The entries of `sync_member` that list the links and the content in the scopes of shared containers.
extension ContainerSQL {
    /// Returns statements that update the entry of one link, and the entry of its content in the link's container.
    ///
    /// Entries of the content in other containers do not depend on this link. There may be thousands of them, so they
    /// are left out.
    ///
    /// - Parameter row: `NEW` or `OLD`, the link in the trigger.
    func linked(_ row: String) -> String {
        let entry = "scopeID = \(scope("\(row).\(linkContainer)")) AND key = \(row).\(linkContent)"
        let link = """
            l.\(linkContent) = \(row).\(linkContent) AND l.\(linkContainer) = \(row).\(linkContainer)
            """
        return """
            \(entries(ofLinks: "key = \(row).id", "l.id = \(row).id"))
            \(entries(ofContent: entry, link))
            """
    }

    /// Returns statements that update the entries of all content that an account owns in a container, and of the links
    /// to it, after the account's grant has changed.
    ///
    /// - Parameters:
    ///   - row: `NEW` or `OLD`, the row of `sync_grant` in the trigger.
    ///   - change: `entering` for a new grant, `leaving` for a removed one.
    func granted(_ row: String, change: Change) -> String {
        let id = id("\(row).scopeID")
        let join = "\(links) l \(dialect.inOrder) \(content) f ON f.id = l.\(linkContent)"
        let owned = "l.\(linkContainer) = \(id) AND f.scopeID = 'account/' || \(row).accountID"
        let here = "scopeID = \(row).scopeID AND key IN"
        let link = "\(owned) AND g.accountID = \(row).accountID"
        let scope = "\(row).scopeID"
        let content = "\(here) (SELECT l.\(linkContent) FROM \(join) WHERE \(owned))"
        return """
            \(entries(ofLinks: "\(here) (SELECT l.id FROM \(join) WHERE \(owned))", link, change: change, all: scope))
            \(entries(ofContent: content, link, change: change, all: scope))
            """
    }

    /// Returns the `FROM` and `WHERE` of a query for valid links. A valid link belongs to the account of its container,
    /// and its content belongs to an account that may read the container.
    ///
    /// - Parameter condition: a further condition on the link `l`, its content `f`, its container `c` and the grant
    ///   `g`.
    private func counting(_ condition: String) -> String {
        """
        \(links) l \(dialect.inOrder) \(content) f ON f.id = l.\(linkContent)
                    JOIN \(table) c ON c.id = l.\(linkContainer) AND c.scopeID = l.scopeID
                    JOIN sync_grant g ON g.accountID = substr(f.scopeID, 9) AND g.scopeID = \(scope("c.id"))
                    WHERE \(condition)
        """
    }

    /// Returns statements that update entries of links.
    ///
    /// - Parameters:
    ///   - entry: a condition for the entries to update.
    ///   - link: a condition for the links that may get an entry.
    ///   - change: the possible changes.
    ///   - scope: the only affected scope, if thousands of its entries may change. nil otherwise.
    func entries(
        ofLinks entry: String, _ link: String, change: Change = .any, all scope: String? = nil
    ) -> String {
        entries(
            of: container.links, entry, change: change, all: scope,
            isIn: { s, key in
                "EXISTS (SELECT 1 FROM \(counting("l.id = \(key) AND c.id = \(id(s)) AND g.scopeID = \(s)")))"
            },
            from: "SELECT g.scopeID AS s, l.id AS k FROM \(counting(link))")
    }

    /// Returns statements that update entries of content. The parameters are those of
    /// ``entries(ofLinks:_:change:all:)``.
    func entries(
        ofContent entry: String, _ link: String, change: Change = .any, all scope: String? = nil
    ) -> String {
        entries(
            of: container.content, entry, change: change, all: scope,
            isIn: { s, key in
                let here = "l.\(linkContent) = \(key) AND c.id = \(id(s)) AND g.scopeID = \(s)"
                return "EXISTS (SELECT 1 FROM \(counting(here)))"
            }, from: "SELECT g.scopeID AS s, l.\(linkContent) AS k FROM \(counting(link))")
    }

    /// The possible changes of entries.
    enum Change {
        /// Rows may enter and leave scopes.
        case any
        /// Rows may only enter scopes.
        case entering
        /// Rows may only leave scopes.
        case leaving
    }

    /// Returns statements that make entries of one table match the rows. Each changed entry gets a new position.
    ///
    /// - Parameters:
    ///   - name: the table of the rows that the entries list.
    ///   - entry: a condition for the entries to update.
    ///   - change: the possible changes.
    ///   - scope: the only affected scope, if thousands of its entries may change. nil otherwise.
    ///   - isIn: returns SQL that is true if a scope contains a key.
    ///   - source: a SELECT of the scopes `s` and the keys `k` that have to have an entry.
    func entries(
        of name: String, _ entry: String, change: Change = .any, all scope: String? = nil,
        isIn: (String, String) -> String, from source: String
    ) -> String {
        let isIn = isIn("sync_member.scopeID", "sync_member.key")
        let kind = "\(container.table)/"
        let these = """
            \(entry) AND tableName = '\(name)' AND substr(scopeID, 1, \(kind.utf8.count)) = '\(kind)'
            """
        let here = "SELECT e.scopeID, e.key FROM sync_member e WHERE e.tableName = '\(name)' AND e.scopeID"
        let new =
            if dialect == .postgres, let scope {
                // EXCEPT takes linear time. For NOT EXISTS, PostgreSQL may choose a plan that compares all pairs,
                // because its statistics are older than the new entries.
                """
                SELECT x.s, '\(name)', x.k, x.p
                    FROM (\(PostgresOrder.positioned("\(source) EXCEPT \(here) = \(scope)"))) x
                """
            } else {
                """
                SELECT DISTINCT x.s, '\(name)', x.k, '' FROM (\(source)) x JOIN sync_scope o ON o.id = x.s
                    WHERE NOT EXISTS (\(here) = x.s AND e.key = x.k)
                """
            }
        let leaving =
            "UPDATE sync_member SET isDeleted = 1, updateID = '' WHERE \(these) AND isDeleted = 0 AND NOT \(isIn);"
        let entering = """
            UPDATE sync_member SET isDeleted = 0, updateID = '' WHERE \(these) AND isDeleted = 1 AND \(isIn);
                INSERT INTO sync_member (scopeID, tableName, key, updateID) \(new);
            """
        return switch change {
        case .any: leaving + "\n    " + entering
        case .entering: entering
        case .leaving: leaving
        }
    }
}

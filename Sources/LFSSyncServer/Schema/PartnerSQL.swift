/// The triggers that let an account read what a partner has.
struct PartnerSQL: Sendable {
    let partners: SyncSchema.Partners

    var triggers: [ScopeSQL.Trigger] {
        let columns = "\(TableSQL.quoted(partners.from)), \(TableSQL.quoted(partners.to)), scopeID"
        return [
            make("given", "AFTER INSERT", settled("NEW")),
            make("taken", "AFTER DELETE", settled("OLD")),
            make("changed", "AFTER UPDATE OF \(columns)", settled("OLD") + "\n    " + settled("NEW")),
        ]
    }

    private func make(_ role: String, _ event: String, _ body: String) -> ScopeSQL.Trigger {
        ScopeSQL.make("sync_\(partners.table)_\(role)", partners.table, event, when: nil, body)
    }

    /// A row counts in the account that it lets read: nobody makes himself a partner.
    private func settled(_ row: String) -> String {
        let from = "\(row).\(TableSQL.quoted(partners.from))"
        let to = "\(row).\(TableSQL.quoted(partners.to))"
        let isGiven = """
            EXISTS (SELECT 1 FROM \(TableSQL.quoted(partners.table)) p
                    WHERE p.\(TableSQL.quoted(partners.from)) = \(from) AND p.\(TableSQL.quoted(partners.to)) = \(to)
                        AND p.scopeID = 'account/' || \(from))
            """
        return """
            DELETE FROM sync_grant WHERE scopeID = 'account/' || \(from) AND accountID = \(to) AND \(from) <> \(to)
                    AND NOT \(isGiven);
                INSERT INTO sync_grant (scopeID, accountID, role) SELECT s.id, a.id, 'viewer'
                FROM sync_scope s CROSS JOIN sync_account a
                WHERE s.id = 'account/' || \(from) AND a.id = \(to) AND \(from) <> \(to) AND \(isGiven)
                    AND NOT EXISTS (SELECT 1 FROM sync_grant g WHERE g.scopeID = s.id AND g.accountID = a.id);
            """
    }
}

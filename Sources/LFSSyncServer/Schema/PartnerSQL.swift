/// The triggers that let an account read what a partner has.
struct PartnerSQL: Sendable {
    let partners: SyncSchema.Partners
    let dialect: SQLDialect

    /// Statements that make them.
    var triggers: [String] {
        let columns = "\(TableSQL.quoted(partners.from)), \(TableSQL.quoted(partners.to)), scopeID"
        return [
            make("given", "AFTER INSERT", of: ["NEW"]), make("taken", "AFTER DELETE", of: ["OLD"]),
            make("changed", "AFTER UPDATE OF \(columns)", of: ["OLD", "NEW"]),
        ].flatMap(\.self)
    }

    private func make(_ role: String, _ event: String, of rows: [String]) -> [String] {
        let scopes = rows.map { "SELECT 'account/' || \($0).\(TableSQL.quoted(partners.from))" }
        return ScopeSQL(dialect: dialect).make(
            "sync_\(partners.table)_\(role)", partners.table, event, holding: scopes.joined(separator: " UNION "),
            rows.map(settled).joined(separator: "\n    "))
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

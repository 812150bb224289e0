/// The SQL of the triggers that let an account read a partner's rows.
struct PartnerSQL: Sendable {
    let partners: SyncSchema.Partners
    let dialect: SQLDialect

    /// The statements that create the triggers.
    var triggers: [String] {
        let columns = "\(TableSQL.quoted(partners.from)), \(TableSQL.quoted(partners.to)), scopeID"
        return [
            make("given", event: "AFTER INSERT", of: ["NEW"]), make("taken", event: "AFTER DELETE", of: ["OLD"]),
            make("changed", event: "AFTER UPDATE OF \(columns)", of: ["OLD", "NEW"]),
        ].flatMap(\.self)
    }

    private func make(_ role: String, event: String, of rows: [String]) -> [String] {
        let scopes = rows.map { "SELECT 'account/' || \($0).\(TableSQL.quoted(partners.from))" }
        return ScopeSQL(dialect: dialect).make(
            "sync_\(partners.table)_\(role)", table: partners.table, event: event,
            holding: scopes.joined(separator: " UNION "),
            rows.map(settled).joined(separator: "\n    "))
    }

    /// Returns statements that update a partner's grant. A row counts only in the account whose rows become readable,
    /// so that no account can make itself a partner.
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

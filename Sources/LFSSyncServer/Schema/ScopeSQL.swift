/// The triggers that every schema has: positions of what shared scopes contain, and the clock that outlives scopes.
struct ScopeSQL: Sendable {
    let dialect: SQLDialect

    /// Statements that make them. Positions of PostgreSQL stand beside its functions, in ``PostgresOrder``.
    var triggers: [String] {
        if dialect == .postgres {
            return make(
                "sync_scope_deleted", "sync_scope", "AFTER DELETE",
                "UPDATE sync_state SET scopeClock = OLD.clock + 1 WHERE scopeClock <= OLD.clock;")
        }
        let stamp = """
            \(TableSQL.advance("id = NEW.scopeID"))
                UPDATE sync_member SET updateID = (SELECT head FROM sync_scope WHERE id = NEW.scopeID)
                WHERE scopeID = NEW.scopeID AND tableName = NEW.tableName AND key = NEW.key;
            """
        return [
            make("sync_member_added", "sync_member", "AFTER INSERT", when: "NEW.updateID = ''", stamp),
            make("sync_member_changed", "sync_member", "AFTER UPDATE OF updateID", when: "NEW.updateID = ''", stamp),
            make(
                "sync_scope_deleted", "sync_scope", "AFTER DELETE",
                "UPDATE sync_state SET scopeClock = max(scopeClock, OLD.clock + 1);"),
        ].flatMap(\.self)
    }

    /// Statements that make a trigger for each row.
    ///
    /// - Parameter scopes: a SELECT of those that it is about. SQLite has one writer, and needs none.
    func make(
        _ name: String, _ table: String, _ event: String, when condition: String? = nil, holding scopes: String? = nil,
        _ body: String
    ) -> [String] {
        if dialect == .postgres {
            return PostgresTrigger.statements(
                name, on: table, event, when: condition, holding: scopes, body)
        }
        return [
            """
            CREATE TRIGGER "\(name)" \(event) ON "\(table)"\(condition.map { "\nWHEN \($0)" } ?? "")
            BEGIN
                \(body)
            END
            """
        ]
    }
}

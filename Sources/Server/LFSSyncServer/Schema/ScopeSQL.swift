/// The SQL of the triggers that every schema has. They assign the positions in shared scopes and keep the clock that
/// outlives scopes.
struct ScopeSQL: Sendable {
    let dialect: SQLDialect

    /// The statements that create the triggers. On PostgreSQL, ``PostgresOrder`` assigns the positions.
    var triggers: [String] {
        if dialect == .postgres {
            return make(
                "sync_scope_deleted", table: "sync_scope", event: "AFTER DELETE",
                "UPDATE sync_state SET scopeClock = OLD.clock + 1 WHERE scopeClock <= OLD.clock;")
        }
        let stamp = """
            \(TableSQL.advance("id = NEW.scopeID"))
                UPDATE sync_member SET updateID = (SELECT head FROM sync_scope WHERE id = NEW.scopeID)
                WHERE scopeID = NEW.scopeID AND tableName = NEW.tableName AND key = NEW.key;
            """
        return [
            make("sync_member_added", table: "sync_member", event: "AFTER INSERT", when: "NEW.updateID = ''", stamp),
            make(
                "sync_member_changed", table: "sync_member", event: "AFTER UPDATE OF updateID",
                when: "NEW.updateID = ''", stamp),
            make(
                "sync_scope_deleted", table: "sync_scope", event: "AFTER DELETE",
                "UPDATE sync_state SET scopeClock = max(scopeClock, OLD.clock + 1);"),
        ].flatMap(\.self)
    }

    /// Returns statements that create a trigger for each row.
    ///
    /// - Parameter scopes: a query for the affected scopes. SQLite has one writer and does not need it.
    func make(
        _ name: String, table: String, event: String, when condition: String? = nil, holding scopes: String? = nil,
        _ body: String
    ) -> [String] {
        if dialect == .postgres {
            return PostgresTrigger.statements(
                name, on: table, event: event, when: condition, holding: scopes, body)
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

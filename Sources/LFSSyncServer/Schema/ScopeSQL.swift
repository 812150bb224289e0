/// The triggers that every schema has: positions of what shared scopes contain, and the clock that outlives scopes.
struct ScopeSQL: Sendable {
    let dialect: SQLDialect

    /// A trigger and its statement.
    struct Trigger: Sendable, Hashable {
        let name: String
        let table: String
        let sql: String
    }

    /// - Parameter dialect: PostgreSQL's stand beside its functions.
    var triggers: [Trigger] {
        let stamp = """
            \(TableSQL.advance("id = NEW.scopeID"))
                UPDATE sync_member SET updateID = (SELECT head FROM sync_scope WHERE id = NEW.scopeID)
                WHERE scopeID = NEW.scopeID AND tableName = NEW.tableName AND key = NEW.key;
            """
        return [
            Self.make("sync_member_added", "sync_member", "AFTER INSERT", when: "NEW.updateID = ''", stamp),
            Self.make(
                "sync_member_changed", "sync_member", "AFTER UPDATE OF updateID", when: "NEW.updateID = ''", stamp),
            Self.make(
                "sync_scope_deleted", "sync_scope", "AFTER DELETE", when: nil,
                "UPDATE sync_state SET scopeClock = max(scopeClock, OLD.clock + 1);"),
        ]
    }

    static func make(_ name: String, _ table: String, _ event: String, when: String?, _ body: String) -> Trigger {
        let condition = when.map { "\nWHEN \($0)" } ?? ""
        return Trigger(
            name: name, table: table,
            sql: """
                CREATE TRIGGER "\(name)" \(event) ON "\(table)"\(condition)
                BEGIN
                    \(body)
                END
                """)
    }
}

/// A trigger for each row on PostgreSQL, and the function that it calls.
enum PostgresTrigger {
    /// Statements that make the function, and the trigger.
    ///
    /// - Parameters:
    ///   - condition: when the function does something; nil for always.
    ///   - scopes: a SELECT of those that what the function finds out depends on, and that it changes.
    static func statements(
        _ name: String, on table: String, _ event: String, when condition: String?, holding scopes: String?,
        _ body: String
    ) -> [String] {
        let work = [scopes.map(hold), body].compactMap(\.self).joined(separator: "\n    ")
        let whole = condition.map { "IF \($0) THEN\n    \(work)\n    END IF;" } ?? work
        return [
            """
            CREATE OR REPLACE FUNCTION "\(name)"() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
            BEGIN
                \(whole)
                RETURN NULL;
            END $$
            """,
            make(name, on: table, event, "FOR EACH ROW", "\"\(name)\""),
        ]
    }

    /// Makes a trigger that fires also where a replica or a restore has switched others off.
    static func make(
        _ name: String, on table: String, _ event: String, _ rows: String, _ function: String
    ) -> String {
        """
        CREATE TRIGGER "\(name)" \(event) ON "\(table)" \(rows) EXECUTE FUNCTION \(function)();
        ALTER TABLE "\(table)" ENABLE ALWAYS TRIGGER "\(name)"
        """
    }

    /// Locks scopes until the end of the transaction, all of them in one order, since two transactions may want the
    /// same ones. Each statement after it sees what others who held one of them have left: whoever shares a row and
    /// whoever changes it do not miss each other.
    private static func hold(_ scopes: String) -> String {
        """
        PERFORM 1 FROM sync_scope s WHERE s.id IN (\(scopes)) ORDER BY s.id FOR NO KEY UPDATE OF s;
        """
    }
}

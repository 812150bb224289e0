/// A trigger for each row on PostgreSQL, and the function that it calls.
enum PostgresTrigger {
    /// Returns statements that create the function and the trigger.
    ///
    /// - Parameters:
    ///   - condition: an SQL condition for the function to do something. Nil for always.
    ///   - scopes: a query for the scopes that the function reads or changes.
    static func statements(
        _ name: String, on table: String, event: String, when condition: String?, holding scopes: String?,
        _ body: String
    ) -> [String] {
        let work = [scopes.map(hold), body].compactMap(\.self).joined(separator: "\n    ")
        let whole = condition.map { "IF \($0) THEN\n    \(work)\n    END IF;" } ?? work
        return [
            """
            CREATE OR REPLACE FUNCTION "\(name)"() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
            BEGIN
                \(whole)
                RETURN \(event == "BEFORE DELETE" ? "OLD" : "NULL");
            END $$
            """,
            make(name, on: table, event: event, rows: "FOR EACH ROW", function: "\"\(name)\""),
        ]
    }

    /// Returns statements that create a trigger. It fires even if a replica or a restore has disabled other triggers.
    static func make(
        _ name: String, on table: String, event: String, rows: String, function: String
    ) -> String {
        """
        CREATE TRIGGER "\(name)" \(event) ON "\(table)" \(rows) EXECUTE FUNCTION \(function)();
        ALTER TABLE "\(table)" ENABLE ALWAYS TRIGGER "\(name)"
        """
    }

    /// Returns a statement that locks scopes until the end of the transaction. It uses a fixed order, because two
    /// transactions may lock the same scopes. Later statements see the changes of earlier lock holders. A transaction
    /// that shares a row and one that changes it therefore see each other's results.
    private static func hold(_ scopes: String) -> String {
        """
        PERFORM 1 FROM sync_scope s WHERE s.id IN (\(scopes)) ORDER BY s.id FOR NO KEY UPDATE OF s;
        """
    }
}

/// The SQL that counts the records of deletions of each scope, in its row of `sync_scope`.
///
/// The records of an account's own scope are its tombstones, those of a shared scope its deleted entries. A shared
/// scope also counts its other entries, as an own scope counts its rows. Triggers count every change, whichever
/// statement makes it. They also count the changes of earlier servers.
enum DeletionSQL {
    /// The statement that adds the counter to a store.
    static let column = "ALTER TABLE sync_scope ADD COLUMN deletionCount BIGINT NOT NULL DEFAULT 0"

    /// Returns the statements that create the triggers, and the functions that they call.
    static func triggers(_ dialect: SQLDialect) -> [String] {
        switch dialect {
        case .sqlite: sqliteTriggers
        case .postgres:
            postgresTriggers("sync_tombstone", entries: "0", deletions: "1", events: ["INSERT", "DELETE"])
                + postgresTriggers(
                    "sync_member", entries: "1 - r.isDeleted", deletions: "r.isDeleted",
                    events: ["INSERT", "UPDATE", "DELETE"])
        }
    }

    /// Returns statements that count the records of scopes again.
    ///
    /// - Parameter scopes: a condition for the rows of `sync_scope`.
    static func recount(_ scopes: String) -> [String] {
        let entries = "SELECT count(*) FROM sync_member m WHERE m.scopeID = sync_scope.id AND m.isDeleted ="
        return [
            """
            UPDATE sync_scope SET deletionCount = (\(entries) 1)
                + (SELECT count(*) FROM sync_tombstone d WHERE d.scopeID = sync_scope.id)
            WHERE \(scopes)
            """,
            "UPDATE sync_scope SET rowCount = (\(entries) 0) WHERE substr(id, 1, 8) <> 'account/' AND \(scopes)",
        ]
    }

    // MARK: SQLite

    private static var sqliteTriggers: [String] {
        let isSwitched = "OLD.isDeleted <> NEW.isDeleted"
        return [
            make("sync_tombstone_counted", on: "sync_tombstone", event: "AFTER INSERT", row: "NEW", deletions: "+ 1"),
            make("sync_tombstone_uncounted", on: "sync_tombstone", event: "AFTER DELETE", row: "OLD", deletions: "- 1"),
            make(
                "sync_member_counted", on: "sync_member", event: "AFTER INSERT", row: "NEW",
                entries: "+ 1 - NEW.isDeleted", deletions: "+ NEW.isDeleted"),
            make(
                "sync_member_recounted", on: "sync_member", event: "AFTER UPDATE OF isDeleted", when: isSwitched,
                row: "NEW", entries: "+ OLD.isDeleted - NEW.isDeleted", deletions: "+ NEW.isDeleted - OLD.isDeleted"),
            make(
                "sync_member_uncounted", on: "sync_member", event: "AFTER DELETE", row: "OLD",
                entries: "- 1 + OLD.isDeleted", deletions: "- OLD.isDeleted"),
        ].flatMap(\.self)
    }

    private static func make(
        _ name: String, on table: String, event: String, when condition: String? = nil, row: String,
        entries: String? = nil, deletions: String
    ) -> [String] {
        let rows = entries.map { "rowCount = rowCount \($0), " } ?? ""
        return ScopeSQL(dialect: .sqlite).make(
            name, table: table, event: event, when: condition,
            "UPDATE sync_scope SET \(rows)deletionCount = deletionCount \(deletions) WHERE id = \(row).scopeID;")
    }

    // MARK: PostgreSQL

    /// Returns statements that create triggers for whole statements. They run after those that lock the scopes, because
    /// of their names.
    ///
    /// - Parameters:
    ///   - entries: the number of entries of a row `r`.
    ///   - deletions: the number of deletions of a row `r`.
    private static func postgresTriggers(
        _ table: String, entries: String, deletions: String, events: [String]
    ) -> [String] {
        let function = TableSQL.quoted("\(table)_counted")
        let (new, old) = ("NEW TABLE AS new_rows", "OLD TABLE AS old_rows")
        let rows = ["INSERT": new, "UPDATE": "\(new) \(old)", "DELETE": old]
        let counted = { (rows: String, sign: String) in
            "SELECT r.scopeID, \(sign)(\(entries)) AS n, \(sign)(\(deletions)) AS d FROM \(rows) r"
        }
        let (added, removed) = (counted("new_rows", ""), counted("old_rows", "-"))
        let creation = """
            CREATE OR REPLACE FUNCTION \(function)() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
            BEGIN
                IF TG_OP = 'INSERT' THEN
                    \(count(added, of: "new_rows"))
                ELSIF TG_OP = 'DELETE' THEN
                    \(count(removed, of: "old_rows"))
                ELSE
                    \(count("\(added) UNION ALL \(removed)", of: "new_rows"))
                END IF;
                RETURN NULL;
            END $$
            """
        return [creation]
            + events.map { event in
                PostgresTrigger.make(
                    "zz_sync_count_\(event.lowercased())", on: table, event: "AFTER \(event)",
                    rows: "REFERENCING \(rows[event] ?? "") FOR EACH STATEMENT", function: function)
            }
    }

    /// Returns a statement that adds the sums of rows to the counters of their scopes. Most statements on these tables
    /// change no row, and then need no sums.
    private static func count(_ rows: String, of table: String) -> String {
        """
        IF EXISTS (SELECT 1 FROM \(table)) THEN
                        UPDATE sync_scope s SET rowCount = s.rowCount + c.n, deletionCount = s.deletionCount + c.d
                        FROM (SELECT x.scopeID, sum(x.n) AS n, sum(x.d) AS d FROM (\(rows)) x
                            GROUP BY x.scopeID HAVING sum(x.n) <> 0 OR sum(x.d) <> 0) c
                        WHERE s.id = c.scopeID;
                    END IF;
        """
    }
}

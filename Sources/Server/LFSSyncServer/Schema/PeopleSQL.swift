import LFSWire

/// The SQL that creates the rows of people, and the triggers that list them in the scopes of shared containers.
///
/// A scope lists the people of all accounts that may read it. Only the row in an account's own scope counts, so that no
/// account can speak for another one.
struct PeopleSQL: Sendable {
    let people: SyncSchema.People
    let dialect: SQLDialect

    private var table: String { TableSQL.quoted(people.table) }
    private var isPerson: String { "tableName = \(TableSQL.literal(people.table))" }

    /// The statements that create the triggers.
    var triggers: [String] {
        let scopes = "SELECT g.scopeID FROM sync_grant g WHERE g.accountID = NEW.id AND \(Self.isShared("g"))"
        let own = entered(
            "scopeID = NEW.scopeID AND key = NEW.accountID",
            grant: "g.scopeID = NEW.scopeID AND g.accountID = NEW.accountID")
        let leaving = """
            UPDATE sync_member SET isDeleted = 1, updateID = ''
                WHERE \(isPerson) AND scopeID = OLD.scopeID AND key = OLD.accountID AND isDeleted = 0;
            """
        return [
            granting("entered", event: "AFTER INSERT", row: "NEW", own),
            granting("left", event: "AFTER DELETE", row: "OLD", leaving),
            ScopeSQL(dialect: dialect).make(
                "sync_\(people.table)_introduced", table: people.table, event: "AFTER INSERT", holding: scopes,
                entered("key = NEW.id", grant: "g.accountID = NEW.id")),
        ].flatMap(\.self)
    }

    /// The statements that create missing rows of people, and list them in the scopes that exist.
    var backfill: [String] { [insertion(of: "1 = 1"), listing(of: "1 = 1")] }

    /// Creates the row of an account, if it has none.
    func add(account name: String, _ db: any SQLConnection) throws {
        try db.execute(insertion(of: "a.name = ?1"), arguments: [.text(name)])
    }

    private func insertion(of accounts: String) -> String {
        """
        INSERT INTO \(table) (id, \(TableSQL.quoted(people.name)), scopeID)
        SELECT a.id, a.name, s.id FROM sync_account a JOIN sync_scope s ON s.id = 'account/' || a.id
        WHERE \(accounts) AND NOT EXISTS (SELECT 1 FROM \(table) u WHERE u.id = a.id)
        """
    }

    /// Returns triggers for accounts that enter or leave a scope.
    private func granting(_ role: String, event: String, row: String, _ body: String) -> [String] {
        // Deleting a scope also deletes its entries.
        let isInScope = """
            \(Self.isShared(row)) AND EXISTS (SELECT 1 FROM sync_scope WHERE id = \(row).scopeID)
            """
        return ScopeSQL(dialect: dialect).make(
            "sync_\(people.table)_\(role)", table: "sync_grant", event: event, when: isInScope,
            holding: "SELECT \(row).scopeID", body)
    }

    private static func isShared(_ row: String) -> String { "substr(\(row).scopeID, 1, 8) <> 'account/'" }

    /// Returns statements that list people in scopes.
    ///
    /// - Parameters:
    ///   - entry: a condition for the entries to update.
    ///   - grant: the same condition on the grant `g`.
    private func entered(_ entry: String, grant: String) -> String {
        return """
            UPDATE sync_member SET isDeleted = 0, updateID = ''
                WHERE \(isPerson) AND \(entry) AND isDeleted = 1 AND EXISTS (
                    SELECT 1 FROM \(grants) WHERE g.scopeID = sync_member.scopeID AND g.accountID = sync_member.key);
                \(listing(of: grant));
            """
    }

    private func listing(of grant: String) -> String {
        """
        INSERT INTO sync_member (scopeID, tableName, key, updateID)
                SELECT g.scopeID, \(TableSQL.literal(people.table)), g.accountID, ''
                FROM \(grants) WHERE \(grant) AND \(Self.isShared("g")) AND NOT EXISTS (
                    SELECT 1 FROM sync_member e WHERE e.\(isPerson) AND e.scopeID = g.scopeID AND e.key = g.accountID)
        """
    }

    private var grants: String {
        "sync_grant g JOIN \(table) u ON u.id = g.accountID AND u.scopeID = 'account/' || g.accountID"
    }
}

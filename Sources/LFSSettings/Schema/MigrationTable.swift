import GRDB

/// `lfs_setting_migration`: keys whose value was taken over from an earlier place.
enum MigrationTable {
    enum State: String, Sendable {
        /// The value is at its new place, and the source is still to go.
        case copied
        case done
    }

    /// By the name of the key. What another program has written there counts as done: nothing is deleted because of it.
    static func states(_ db: Database) throws -> [String: State] {
        let rows = try Row.fetchAll(db, sql: "SELECT name, state FROM main.lfs_setting_migration")
        return Dictionary(
            rows.compactMap { row in
                guard let name = String.fromDatabaseValue(row["name"]) else { return nil }
                return (name, String.fromDatabaseValue(row["state"]).flatMap(State.init) ?? .done)
            }, uniquingKeysWith: { first, _ in first })
    }

    static func note(_ state: State, of name: String, now: Int64, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO main.lfs_setting_migration (name, state, migratedAt) VALUES (?1, ?2, ?3)
                ON CONFLICT (name) DO UPDATE SET state = ?2
                """,
            arguments: [name, state.rawValue, now])
    }

    static func removeAll(_ db: Database) throws { try db.execute(sql: "DELETE FROM main.lfs_setting_migration") }
}

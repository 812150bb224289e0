import GRDB

/// `lfs_setting_migration`: keys whose value was taken over from an earlier place.
enum MigrationTable {
    enum State: Sendable, Equatable {
        /// The value is at its new place, and these sources are still to go.
        case copied(from: [String])
        case done

        var isDone: Bool { self == .done }

        /// Nil once they are gone.
        var sources: [String]? {
            if case .copied(let sources) = self { sources } else { nil }
        }
    }

    /// By the name of the key. What another program has written there counts as done: nothing is deleted because of it.
    static func states(_ db: Database) throws -> [String: State] {
        let rows = try Row.fetchAll(db, sql: "SELECT name, sources FROM main.lfs_setting_migration")
        return Dictionary(
            rows.compactMap { row in
                guard let name = String.fromDatabaseValue(row["name"]) else { return nil }
                // Names of keys and their places have no line break.
                let sources = String.fromDatabaseValue(row["sources"])
                return (name, sources.map { .copied(from: $0.split(separator: "\n").map(String.init)) } ?? .done)
            }, uniquingKeysWith: { first, _ in first })
    }

    static func note(_ state: State, of name: String, now: Int64, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO main.lfs_setting_migration (name, sources, migratedAt) VALUES (?1, ?2, ?3)
                ON CONFLICT (name) DO UPDATE SET sources = ?2
                """,
            arguments: [name, state.sources?.joined(separator: "\n"), now])
    }
}

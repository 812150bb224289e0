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

    /// Whether there is nothing to take over for a key any more.
    static func isNoted(_ name: String, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM main.lfs_setting_migration WHERE name = ?)", arguments: [name])
            ?? false
    }

    /// Notes sources that are to go without having been taken over, unless the key has a note already.
    static func noteRemoved(_ name: String, _ sources: [String], now: Int64, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO main.lfs_setting_migration (name, sources, migratedAt) VALUES (?, ?, ?)
                ON CONFLICT (name) DO NOTHING
                """,
            arguments: [name, sources.joined(separator: "\n"), now])
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

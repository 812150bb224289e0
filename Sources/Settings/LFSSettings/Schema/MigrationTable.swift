import GRDB

/// `lfs_setting_migration`: the keys whose value was migrated from an earlier place.
enum MigrationTable {
    enum State: Sendable, Equatable {
        /// The value is in its new place, and these sources still have to be removed.
        case copied(from: [String])
        case done

        var isDone: Bool { self == .done }

        /// The sources that still have to be removed. Nil once they are removed.
        var sources: [String]? {
            if case .copied(let sources) = self { sources } else { nil }
        }
    }

    /// Returns the states by the names of the keys. An invalid row of another program counts as done, so that nothing
    /// is deleted because of it.
    static func states(_ db: Database) throws -> [String: State] {
        let rows = try Row.fetchAll(db, sql: "SELECT name, sources FROM main.lfs_setting_migration")
        return Dictionary(
            rows.compactMap { row in
                guard let name = String.fromDatabaseValue(row["name"]) else { return nil }
                // Names of keys and their places contain no line breaks.
                let sources = String.fromDatabaseValue(row["sources"])
                return (name, sources.map { .copied(from: $0.split(separator: "\n").map(String.init)) } ?? .done)
            }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns true if a key has no migration left that could provide a value.
    static func isNoted(_ name: String, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM main.lfs_setting_migration WHERE name = ?)", arguments: [name])
            ?? false
    }

    /// Records that the value was migrated, or that its sources are to be removed without migrating it.
    static func note(_ state: State, of name: String, now: Int64, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO main.lfs_setting_migration (name, sources, migratedAt) VALUES (?1, ?2, ?3)
                ON CONFLICT (name) DO UPDATE SET sources = ?2
                """,
            arguments: [name, state.sources?.joined(separator: "\n"), now])
    }
}

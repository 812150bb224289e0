package import GRDB
package import LFSSystem

/// What the database says of itself.
package struct DatabaseIdentity: Sendable {
    package let databaseID: FileID
    package let namespace: Namespace
    /// How often the database was opened before.
    package let generation: Int64
    /// The database's file with links resolved, as SQLite names it; empty for a database in memory.
    package let path: String

    /// - Throws: ``TableError/Code/notMigrated``, ``TableError/Code/newerSchema``.
    package init(_ db: Database) throws {
        guard try db.tableExists(StateTable.name),
            let row = try Row.fetchOne(db, sql: "SELECT * FROM \(StateTable.name)")
        else {
            throw TableError(
                .notMigrated,
                """
                The database has no LFS tables. Call registerLFSMigrations() on its DatabaseMigrator and migrate \
                before opening LFS.
                """
            )
        }
        let checked = CheckedRow(row, of: StateTable.name)
        let version: Int = try checked.value("schemaVersion")
        guard version <= Schema.version, try !Self.hasUnknownMigration(db) else {
            throw TableError(
                .newerSchema,
                """
                The database was written by a newer LFS (schema \(version); this one knows \(Schema.version)). \
                Update LFS.
                """
            )
        }
        guard version == Schema.version else {
            throw TableError(
                .notMigrated,
                """
                The database has the LFS tables of an older version (schema \(version); this one needs \
                \(Schema.version)). Call registerLFSMigrations() on its DatabaseMigrator and migrate before \
                opening LFS.
                """
            )
        }
        // The id is written into the markers of folders and is the name of one, so nothing but an id is taken.
        guard let id = FileID(text: try checked.value("databaseID")) else {
            throw TableError(
                .wrongStore,
                """
                The id of the database in lfs_state is none that LFS makes: another program has written it. Put the \
                database back from a backup.
                """
            )
        }
        databaseID = id
        namespace = Namespace(ofDatabase: id.text)
        generation = try checked.number("generation", in: 0...Self.mostOpenings)
        guard try checked.value("namespace") == namespace.text else { throw checked.invalid("namespace") }
        path = try db.mainPath()
    }

    /// More openings than any database has had, and few enough that the next ones can be counted too.
    private static let mostOpenings: Int64 = 1 << 50

    private static func hasUnknownMigration(_ db: Database) throws -> Bool {
        guard try db.tableExists("grdb_migrations") else { return false }
        let applied = try String.fetchAll(db, sql: "SELECT identifier FROM grdb_migrations")
        let known = Schema.migrations.map(\.identifier)
        return applied.contains { $0.hasPrefix(Schema.migrationPrefix) && !known.contains($0) }
    }
}

extension Database {
    /// The path of the database's file; empty for one in memory.
    package func mainPath() throws -> String {
        try String.fetchOne(self, sql: "SELECT file FROM pragma_database_list WHERE name = 'main'") ?? ""
    }
}

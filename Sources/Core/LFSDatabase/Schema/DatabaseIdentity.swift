package import GRDB
import GRDBSQLite
package import LFSSystem

/// The identity of the database, as stored in `lfs_state`.
package struct DatabaseIdentity: Sendable {
    package let databaseID: FileID
    package let namespace: Namespace
    /// The number of earlier openings of the database.
    package let generation: Int64
    /// The path of the database file with links resolved, as SQLite reports it. Empty for a database in memory.
    package let path: String

    /// - Throws: ``TableError/Code/notMigrated``, ``TableError/Code/newerSchema``.
    package init(_ db: Database) throws {
        guard try db.tableExists(StateTable.name),
            let row = try Row.fetchOne(db, sql: "SELECT * FROM \(StateTable.name)")
        else {
            throw TableError(
                .notMigrated,
                message: """
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
                message: """
                    The database was written by a newer LFS (schema \(version); this one knows \(Schema.version)). \
                    Update LFS.
                    """
            )
        }
        guard version == Schema.version else {
            throw TableError(
                .notMigrated,
                message: """
                    The database has the LFS tables of an older version (schema \(version); this one needs \
                    \(Schema.version)). Call registerLFSMigrations() on its DatabaseMigrator and migrate before \
                    opening LFS.
                    """
            )
        }
        // The id is written into the markers of folders and is the name of one, so only a valid id is accepted.
        guard let id = FileID(text: try checked.value("databaseID")) else {
            throw TableError(
                .wrongStore,
                message: """
                    The id of the database in lfs_state is invalid: another program has written it. Restore the \
                    database from a backup.
                    """
            )
        }
        databaseID = id
        namespace = Namespace(ofDatabase: id.text)
        generation = try checked.number("generation", in: 0...Self.mostOpenings)
        guard try checked.value("namespace") == namespace.text else { throw checked.invalid("namespace") }
        path = db.mainPath
    }

    /// A number that no database reaches, small enough to continue counting.
    private static let mostOpenings: Int64 = 1 << 50

    private static func hasUnknownMigration(_ db: Database) throws -> Bool {
        guard try db.tableExists("grdb_migrations") else { return false }
        let applied = try String.fetchAll(db, sql: "SELECT identifier FROM grdb_migrations")
        let known = Schema.migrations.map(\.identifier)
        return applied.contains { $0.hasPrefix(Schema.migrationPrefix) && !known.contains($0) }
    }
}

extension Database {
    /// SQL with the present path of the database file. SQLite computes it once per statement.
    static let mainPathSQL = "(SELECT file FROM pragma_database_list WHERE name = 'main')"

    /// The path of the database file. Empty for a database in memory.
    package var mainPath: String {
        // Each attached original needs it. The pragma of ``mainPathSQL`` takes 18 µs.
        sqlite3_db_filename(sqliteConnection, "main").map { String(cString: $0) } ?? ""
    }
}

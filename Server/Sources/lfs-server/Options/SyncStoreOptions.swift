import ArgumentParser
import LFSServerPostgres
import LFSSyncServer

/// Where the rows are that devices share.
struct SyncStoreOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The database of the rows that devices share: a file of SQLite, or postgres://USER@HOST/NAME with the "
                + "password in PGPASSWORD or ~/.pgpass.", valueName: "file|url"))
    var database: String

    @Option(
        help: ArgumentHelp(
            "A database of the app, whose synced tables the server has as well. The uploader's by default.",
            valueName: "file"))
    var schemaFrom: String?

    func open() throws -> any SQLDatabase { try Self.open(database) }

    func schema() throws -> SyncSchema { try Self.schema(schemaFrom) }

    /// Whether it is on a server of PostgreSQL, and no file.
    static func isPostgres(_ text: String) -> Bool {
        ["postgres://", "postgresql://"].contains(where: text.hasPrefix)
    }

    static func open(_ text: String) throws -> any SQLDatabase {
        if isPostgres(text) {
            do {
                return try PostgresDatabase(url: text)
            } catch let failure as SQLFailure {
                // Without the URL, which may have a password.
                throw ValidationError("--database: \(failure.message)")
            }
        }
        do {
            return try SQLiteDatabase(path: text)
        } catch let failure as SQLFailure {
            throw ValidationError("The database \(text) cannot be opened: \(failure.message)")
        }
    }

    static func schema(_ path: String?) throws -> SyncSchema {
        guard let path else { return .uploader }
        do {
            return try SyncSchema(databaseAt: path)
        } catch let failure as SQLFailure {
            throw ValidationError("--schema-from \(path) cannot be read: \(failure.message)")
        } catch let error as SyncSchemaError {
            throw ValidationError("--schema-from \(path): \(error)")
        }
    }
}

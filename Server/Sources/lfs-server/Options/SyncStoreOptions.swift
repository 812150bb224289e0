import ArgumentParser
import LFSSyncServer

/// Where the rows are that devices share.
struct SyncStoreOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The SQLite database of the rows that devices share.", valueName: "file"))
    var database: String

    @Option(
        help: ArgumentHelp(
            "A database of the app, whose synced tables the server has as well. The uploader's by default.",
            valueName: "file"))
    var schemaFrom: String?

    func open() throws -> any SQLDatabase { try Self.open(database) }

    func schema() throws -> SyncSchema { try Self.schema(schemaFrom) }

    static func open(_ text: String) throws -> any SQLDatabase {
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

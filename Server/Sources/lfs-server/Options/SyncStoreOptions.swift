import ArgumentParser
import Foundation
import LFSServerPostgres
import LFSSyncServer

/// The options of the sync database.
struct SyncStoreOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The sync database: an SQLite file, or postgres://USER@HOST/NAME with the password in PGPASSWORD or "
                + "~/.pgpass.", valueName: "file|url"))
    var database: String

    @Option(
        help: ArgumentHelp(
            "A database of the app. The server syncs the same tables. The default is the uploader's schema.",
            valueName: "file"))
    var schemaFrom: String?

    @Option(help: SyncStoreOptions.directDatabaseHelp) var directDatabase: String?

    static var directDatabaseHelp: ArgumentHelp {
        ArgumentHelp(
            "The URL of PostgreSQL itself, if --database is that of a connection pooler, such as PgBouncer. Servers "
                + "notify each other over it.", valueName: "url", visibility: .hidden)
    }

    @OptionGroup(visibility: .hidden) var sharing: SharingOptions

    func validate() throws { try Self.validate(direct: directDatabase, database: database) }

    /// - Throws: `ValidationError` if the URL of PostgreSQL itself is given, and the database is not PostgreSQL.
    static func validate(direct: String?, database: String?) throws {
        guard direct == nil || database.map(isPostgres) == true else {
            throw ValidationError("--direct-database needs --database postgres://…, the URL of the connection pooler.")
        }
    }

    /// True if the database is a file that does not exist. SQLite interprets a text with `file:` as a URI.
    var isMissing: Bool {
        !Self.isPostgres(database) && !database.hasPrefix("file:") && !FileManager.default.fileExists(atPath: database)
    }

    /// - Throws: ``CommandFailure`` if the file is missing and must not be created, and `ValidationError` if the
    ///   database cannot be opened.
    private func open(mayCreate: Bool) throws -> any SQLDatabase {
        guard mayCreate || !isMissing else {
            throw CommandFailure(
                "There is no database \(database). 'session add', 'schema migrate' and 'serve' create it.")
        }
        return try Self.open(database, direct: directDatabase)
    }

    func schema() throws -> SyncSchema { try sharing.adding(to: try Self.schema(schemaFrom)) }

    /// Opens the database with a sync service for one command.
    ///
    /// - Parameter mayCreate: true if the command creates a missing file.
    func withService<Value: Sendable>(
        mayCreate: Bool = false, options: SyncServiceOptions = SyncServiceOptions(),
        _ body: (SyncService) async throws -> Value
    ) async throws -> Value {
        // The schema is read first, so that a wrong one leaves no new database.
        let schema = try schema()
        let database = try open(mayCreate: mayCreate)
        return try await Self.closing(database) {
            try await body(try await SyncService(database, schema: schema, options: options))
        }
    }

    /// Opens the database with its tables for one command.
    ///
    /// - Parameter mayCreate: true if the command creates a missing file.
    func withStore<Value: Sendable>(
        mayCreate: Bool = false, _ body: (SyncStore) async throws -> Value
    ) async throws -> Value {
        let schema = try schema()
        let database = try open(mayCreate: mayCreate)
        return try await Self.closing(database) { try await body(try SyncStore(database, schema: schema)) }
    }

    private static func closing<Value: Sendable>(
        _ database: any SQLDatabase, _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            let value = try await body()
            await database.close()
            return value
        } catch let error as SyncStoreError where error.code == .destructive {
            await database.close()
            throw CommandFailure(
                "\(error) Commands need the same --schema-from, --container, --partners and --people as 'serve'.")
        } catch {
            await database.close()
            throw error
        }
    }

    /// Returns true if the text is a PostgreSQL URL and not a file.
    static func isPostgres(_ text: String) -> Bool {
        ["postgres://", "postgresql://"].contains(where: text.hasPrefix)
    }

    /// - Parameter direct: the URL of PostgreSQL itself, if `text` is that of a connection pooler.
    static func open(_ text: String, direct: String? = nil) throws -> any SQLDatabase {
        if isPostgres(text) {
            do {
                return try PostgresDatabase(url: text, directURL: direct)
            } catch let failure as SQLFailure {
                // The message omits the URL, which may contain a password.
                let options = direct == nil ? "--database" : "--database or --direct-database"
                throw ValidationError("\(options): \(failure.message)")
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

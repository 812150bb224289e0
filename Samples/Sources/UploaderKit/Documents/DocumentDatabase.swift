import Foundation
import GRDB
import LFS

/// Opens the database that holds the documents, and says clearly why it cannot.
enum DocumentDatabase {
    /// Opens the database for writing and makes it if it is missing; its folder has to exist.
    static func open(_ path: String, mustExist: Bool = false) throws -> DatabasePool {
        try requireFolder(of: path)
        if mustExist { try requireFile(path) }
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        // Triggers need a journal for each statement, which would be a file for each transaction.
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA temp_store = MEMORY") }
        do {
            let database = try DatabasePool(path: path, configuration: configuration)
            try requireKnownSchema(database, path)
            try migrator.migrate(database)
            try makeCommitsDurable(database)
            return database
        } catch {
            throw explained(error, path)
        }
    }

    /// Opens a database that exists, to look at it.
    static func openForReading(_ path: String) throws -> DatabaseQueue {
        try requireFile(path)
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(10)
        do {
            let database = try DatabaseQueue(path: path, configuration: configuration)
            try requireKnownSchema(database, path)
            guard try database.read({ db in try db.tableExists("document") && db.tableExists("lfs_file") }) else {
                throw UploaderError("\(path) was not made by uploader: it has no table of documents. Run 'push' first.")
            }
            return database
        } catch {
            throw explained(error, path)
        }
    }

    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerLFSMigrations()
        migrator.registerMigration("uploader.v1") { db in
            try db.create(table: "document") { table in
                table.primaryKey("path", .text)
                table.column("title", .text).notNull()
                table.column("addedAt", .datetime).notNull()
                table.column("fileId", .text).notNull().indexed().references("lfs_file")
                table.column("stamp", .text).notNull()
            }
        }
        return migrator
    }

    /// A pool runs with `synchronous=NORMAL`, and a power cut may take back its last commits. A file that was
    /// reported as attached has to stay attached.
    private static func makeCommitsDurable(_ database: DatabasePool) throws {
        try database.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = FULL")
            guard try Int.fetchOne(db, sql: "PRAGMA synchronous") == 2 else {
                throw UploaderError("The database does not take PRAGMA synchronous = FULL.")
            }
        }
    }

    private static func requireKnownSchema(_ database: some DatabaseReader, _ path: String) throws {
        if try database.read({ db in try migrator.hasBeenSuperseded(db) }) {
            throw UploaderError(
                "\(path) was written by a newer version, or by another program: it has migrations that this uploader does not know. Update uploader, or use another database."
            )
        }
    }

    private static func requireFolder(of path: String) throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
            throw UploaderError(
                "The folder \(folder) for the database does not exist. Make it first: mkdir -p '\(folder)'")
        }
    }

    private static func requireFile(_ path: String) throws {
        guard FileManager.default.fileExists(atPath: path) else {
            throw UploaderError("There is no database at \(path). Run 'push' first, or check --database.")
        }
    }

    private static func explained(_ error: any Error, _ path: String) -> any Error {
        guard let error = error as? DatabaseError else { return error }
        switch error.resultCode {
        case .SQLITE_NOTADB: return UploaderError("\(path) is not a SQLite database. Give --database another path.")
        case .SQLITE_CANTOPEN:
            return UploaderError(
                "The database \(path) cannot be opened. Check that it is a file and that you may read and write it.")
        case .SQLITE_READONLY, .SQLITE_PERM:
            return UploaderError("The database \(path) may not be written. Check the permissions of it and its folder.")
        case .SQLITE_FULL: return UploaderError("The disk that holds the database \(path) is full. Free some space.")
        case .SQLITE_CORRUPT:
            return UploaderError("The database \(path) is damaged (\(error.message ?? "")). Restore it from a backup.")
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            return UploaderError("Another program holds the database \(path) locked. Try again when it has finished.")
        default: return UploaderError("The database \(path) failed: \(error.message ?? "\(error.resultCode)")")
        }
    }
}

/// Why a command cannot do its job, in words for the person who ran it.
struct UploaderError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

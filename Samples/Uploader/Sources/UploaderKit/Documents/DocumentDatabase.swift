import Foundation
import GRDB
import LFS

/// Functions that open the document database, with clear error messages.
enum DocumentDatabase {
    /// Opens the uploader's database for writing and creates it if it is missing. Its folder must exist.
    ///
    /// - Parameter isSynced: true if other devices share its files from now on.
    static func open(_ file: DatabaseFile, isSynced: Bool = false) throws -> DatabasePool {
        let path = file.path
        do {
            try file.requireOurs()
            try PrivateFile.make(path)
            let database = try DatabasePool(path: path, configuration: writing)
            try migrate(database, migrator: isSynced ? DocumentSchema.syncMigrator : DocumentSchema.migrator)
            try makeCommitsDurable(database)
            try shortenLog(of: database, at: path)
            return database
        } catch {
            throw explained(error, path: path)
        }
    }

    /// Migrates the tables, even while another process does the same.
    private static func migrate(_ database: DatabasePool, migrator: DatabaseMigrator) throws {
        for _ in 0..<8 {
            do { return try migrator.migrate(database) } catch let error as DatabaseError
                where error.resultCode == .SQLITE_ERROR || error.resultCode == .SQLITE_CONSTRAINT
            {
                // The other process has completed the same step first. The remaining steps are determined again.
                continue
            }
        }
        try migrator.migrate(database)
    }

    /// Opens a database that contains LFS. The database of another app is not migrated, and its journal mode stays
    /// unchanged.
    static func openAny(_ file: DatabaseFile) throws -> any DatabaseWriter {
        try file.requireThere()
        try file.requireFiles()
        if file.isOurs { return try open(file) }
        do {
            return try DatabaseQueue(path: file.path, configuration: writing)
        } catch {
            throw explained(error, path: file.path)
        }
    }

    /// Closes the database so that a single file remains. SQLite moves the WAL into it when the last connection closes,
    /// if that connection is writable.
    static func close(_ database: any DatabaseWriter) throws {
        try database.close()
        guard let pool = database as? DatabasePool else { return }
        // A pool closes its readers last, and they are read-only. Without another connection the WAL stays, and the
        // next program that opens the database moves it.
        do { try DatabaseQueue(path: pool.path, configuration: writing).close() } catch is DatabaseError {}
    }

    /// Removes a database that turned out to be unnecessary. If it contains files by now, it stays.
    static func remove(_ database: any DatabaseWriter, at path: String) throws {
        let isEmpty = try database.read { db in try Row.fetchOne(db, sql: "SELECT 1 FROM lfs_file") == nil }
        try close(database)
        guard isEmpty else { return }
        for suffix in ["", "-wal", "-shm"] { _ = unlink(path + suffix) }
    }

    private static var writing: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        // Triggers need a statement journal, which would otherwise be a file for each transaction.
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA temp_store = MEMORY") }
        return configuration
    }

    /// A pool uses `synchronous=NORMAL`, so a power failure may undo its last commits. A file that was reported as
    /// attached must stay attached.
    private static func makeCommitsDurable(_ database: DatabasePool) throws {
        try database.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = FULL")
            guard try Int.fetchOne(db, sql: "PRAGMA synchronous") == 2 else {
                throw UploaderError("The database does not accept PRAGMA synchronous = FULL.")
            }
        }
    }

    /// Limits the size of SQLite's log on a small disk.
    private static func shortenLog(of database: DatabasePool, at path: String) throws {
        guard let space = DiskSpace(of: path) else { return }
        let pages = DiskSpace.logByteCount(space.total) / 4_096
        try database.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA wal_autocheckpoint = \(pages)") }
    }

    static func explained(_ error: any Error, path: String) -> any Error {
        guard let error = error as? DatabaseError else { return error }
        switch error.resultCode {
        case .SQLITE_NOTADB: return UploaderError("\(path) is not a SQLite database. Give --database another path.")
        case .SQLITE_CANTOPEN:
            return UploaderError(
                "The database \(path) cannot be opened. Check that it is a file and that you may read and write it.")
        case .SQLITE_READONLY, .SQLITE_PERM:
            return UploaderError("The database \(path) may not be written. Check the permissions of it and its folder.")
        case _ where error.isForWantOfSpace:
            return UploaderError(
                "The disk that holds the database \(path) is full\(DiskSpace.limitWords). Free some space.")
        case .SQLITE_CORRUPT:
            return UploaderError(
                """
                The database \(path) is damaged (\(error.message ?? "")). Move it away, and restore a copy: 'uploader \
                recover' finds those that 'push --save-database' has kept on the storage.
                """)
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            return UploaderError("Another program has locked the database \(path). Try again when it has finished.")
        case .SQLITE_IOERR:
            return UploaderError(
                "The database \(path) failed: \(error.message ?? "disk I/O error")\(DiskSpace.limitWords)")
        default: return UploaderError("The database \(path) failed: \(error.message ?? "\(error.resultCode)")")
        }
    }
}

extension DatabaseError {
    /// True if the disk is full. The second code means that the index of the WAL cannot grow.
    var isForWantOfSpace: Bool { resultCode == .SQLITE_FULL || extendedResultCode == .SQLITE_IOERR_SHMSIZE }
}

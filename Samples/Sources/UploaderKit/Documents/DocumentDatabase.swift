import Foundation
import GRDB
import LFS

/// Opens the database that holds the documents, and says clearly why it cannot.
enum DocumentDatabase {
    /// Opens the uploader's database for writing and makes it if it is missing; its folder has to exist.
    ///
    /// - Parameter isSynced: whether other devices share its files from now on.
    static func open(_ file: DatabaseFile, isSynced: Bool = false) throws -> DatabasePool {
        let path = file.path
        do {
            try file.requireOurs()
            try PrivateFile.make(path)
            let database = try DatabasePool(path: path, configuration: writing)
            try migrate(database, isSynced ? DocumentSchema.syncMigrator : DocumentSchema.migrator)
            try makeCommitsDurable(database)
            try shortenLog(of: database, at: path)
            return database
        } catch {
            throw explained(error, path)
        }
    }

    /// Brings the tables up to date, also while another process does.
    private static func migrate(_ database: DatabasePool, _ migrator: DatabaseMigrator) throws {
        for _ in 0..<8 {
            do { return try migrator.migrate(database) } catch let error as DatabaseError
                where error.resultCode == .SQLITE_ERROR || error.resultCode == .SQLITE_CONSTRAINT
            {
                // The other one was quicker with the same step: what is left of them is looked up anew.
                continue
            }
        }
        try migrator.migrate(database)
    }

    /// Opens a database that has LFS in it. That of another app is neither migrated nor brought to another journal
    /// mode.
    static func openAny(_ file: DatabaseFile) throws -> any DatabaseWriter {
        try file.requireThere()
        try file.requireFiles()
        if file.isOurs { return try open(file) }
        do {
            return try DatabaseQueue(path: file.path, configuration: writing)
        } catch {
            throw explained(error, file.path)
        }
    }

    /// Closes it so that a single file is left: SQLite takes the WAL in with the last connection that goes, if that one
    /// may write.
    static func close(_ database: any DatabaseWriter) throws {
        if let pool = database as? DatabasePool {
            // A pool closes its writer before its readers.
            pool.releaseMemory()
            // A reader may still go last, and may not write. What fails here is in the WAL, and stays there.
            do { try pool.writeWithoutTransaction { _ = try $0.checkpoint() } } catch is DatabaseError {}
        }
        try database.close()
    }

    /// Removes a database that was made for nothing. One that has files by now stays.
    static func remove(_ database: any DatabaseWriter, at path: String) throws {
        let isEmpty = try database.read { db in try Row.fetchOne(db, sql: "SELECT 1 FROM lfs_file") == nil }
        try close(database)
        guard isEmpty else { return }
        for suffix in ["", "-wal", "-shm"] { _ = unlink(path + suffix) }
    }

    private static var writing: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        // Triggers need a journal for each statement, which would be a file for each transaction.
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA temp_store = MEMORY") }
        return configuration
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

    /// On a small disk the log of SQLite takes no large part of it.
    private static func shortenLog(of database: DatabasePool, at path: String) throws {
        guard let space = DiskSpace(of: path) else { return }
        let pages = DiskSpace.logByteCount(space.total) / 4_096
        try database.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA wal_autocheckpoint = \(pages)") }
    }

    static func explained(_ error: any Error, _ path: String) -> any Error {
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
                The database \(path) is damaged (\(error.message ?? "")). Move it away, and bring back a copy: \
                'uploader recover' finds those that 'push --save-database' has kept on the storage.
                """)
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            return UploaderError("Another program holds the database \(path) locked. Try again when it has finished.")
        case .SQLITE_IOERR:
            return UploaderError(
                "The database \(path) failed: \(error.message ?? "disk I/O error")\(DiskSpace.limitWords)")
        default: return UploaderError("The database \(path) failed: \(error.message ?? "\(error.resultCode)")")
        }
    }
}

extension DatabaseError {
    /// Whether the disk is full. The second code: there is no page for the index of the log.
    var isForWantOfSpace: Bool { resultCode == .SQLITE_FULL || extendedResultCode == .SQLITE_IOERR_SHMSIZE }
}

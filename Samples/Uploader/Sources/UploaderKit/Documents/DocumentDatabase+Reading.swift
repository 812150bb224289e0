import Foundation
import GRDB

/// Read access to a database, even if it is not writable.
extension DocumentDatabase {
    /// Opens a database that contains LFS, for reading.
    static func openForReading(_ path: String) throws -> (database: DatabaseQueue, table: DocumentTable) {
        let file = try DatabaseFile(at: path)
        try file.requireThere()
        try file.requireFiles()
        do {
            return (try connection(toRead: path), DocumentTable(isOurs: file.isOurs))
        } catch {
            throw explained(error, path: path)
        }
    }

    /// Opens a connection that changes nothing. Like every reader, SQLite rolls back a transaction that a killed
    /// process left unfinished. A read-only connection cannot do that.
    static func connection(toRead path: String) throws -> DatabaseQueue {
        do {
            do {
                return try open(path, isReadOnly: true)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_READONLY {
                return try open(path, isReadOnly: false)
            }
        } catch let error as DatabaseError where [.SQLITE_READONLY, .SQLITE_CANTOPEN].contains(error.resultCode) {
            guard let resting = try connection(toResting: path) else { throw error }
            return resting
        }
    }

    private static func open(_ path: String, isReadOnly: Bool) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = isReadOnly
        configuration.busyMode = .timeout(10)
        if !isReadOnly {
            configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA query_only = ON") }
        }
        let database = try DatabaseQueue(path: path, configuration: configuration)
        _ = try database.read { db in try Row.fetchOne(db, sql: "SELECT 1 FROM sqlite_master LIMIT 1") }
        return database
    }

    /// Opens a database in a folder or on a disk without write access. There SQLite cannot create the shared files that
    /// readers of a WAL need. Source: SQLite, "Write-Ahead Logging", 5, "Read-Only Databases".
    ///
    /// - Returns: nil if the database cannot be read in any way.
    /// - Throws: ``UploaderError`` if the newest changes are in a file that cannot be read here.
    private static func connection(toResting path: String) throws -> DatabaseQueue? {
        let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        guard access(path, R_OK) == 0, access(URL(fileURLWithPath: path).deletingLastPathComponent().path, W_OK) != 0
        else { return nil }
        for suffix in ["-wal", "-journal"] where byteCount(path + suffix) > 0 {
            throw UploaderError(
                """
                The newest changes of \(path) are in \(path)\(suffix), and its folder may not be written, so they \
                cannot be read. Copy both files into a folder of your own, and give --database that copy.
                """)
        }
        // A process that has the database open for writing keeps a -wal file next to it, so the database cannot change
        // during the read.
        guard let name = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) else { return nil }
        return try open("file:\(name)?immutable=1", isReadOnly: true)
    }

    private static func byteCount(_ path: String) -> Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }
}

import Foundation
import GRDB

/// Looking at a database, also at one that may not be written.
extension DocumentDatabase {
    /// Opens a database that has LFS in it, to look at it.
    static func openForReading(_ path: String) throws -> (database: DatabaseQueue, table: DocumentTable) {
        let file = try DatabaseFile(at: path)
        try file.requireThere()
        try file.requireFiles()
        do {
            return (try connection(toRead: path), DocumentTable(isOurs: file.isOurs))
        } catch {
            throw explained(error, path)
        }
    }

    /// A connection that changes nothing. A transaction that a kill has left half done is taken back, as every reader
    /// of SQLite does it; one that may not write cannot.
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

    /// A connection to a database in a folder that may not be written, or on a disk that takes nothing, where SQLite
    /// cannot make what readers of a WAL share. Source: SQLite, "Write-Ahead Logging", 5, "Read-Only Databases".
    ///
    /// - Returns: nil when it cannot be read in any case.
    /// - Throws: ``UploaderError`` when the newest changes are where nobody here can read them.
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
        // Whoever has it open for writing leaves a -wal file beside it, so nothing changes under us.
        guard let name = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) else { return nil }
        return try open("file:\(name)?immutable=1", isReadOnly: true)
    }

    private static func byteCount(_ path: String) -> Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }
}

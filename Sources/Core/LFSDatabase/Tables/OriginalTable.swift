package import GRDB
package import LFSSystem

/// `lfs_original`: the originals of files that were attached without a copy. The rows belong to this device only.
///
/// A row stays when its file is uploaded, because the original can still be read. It is deleted with the tombstone of
/// its file, so that the insertion of a deleted row can be undone until then.
package enum OriginalTable {
    static let name = "lfs_original"

    /// Returns SQL that is true if a file has an original.
    static func contains(_ id: String, in schema: String = "") -> String {
        "EXISTS (SELECT 1 FROM \(schema)\(name) WHERE fileID = \(id))"
    }

    /// Returns the SQL that joins the original, if there is one, to a row with the id of its file.
    static func joined(to alias: String) -> String { "LEFT JOIN lfs_original o ON o.fileID = \(alias).fileID" }
    /// The columns of a joined original that ``joinedRow(_:)`` reads, in addition to the id of the file.
    static let columns = "o.path, o.relativePath, o.device, o.stamp, \(Database.mainPathSQL) AS databasePath"

    /// Returns the original of a row with ``columns``. Nil without one, and for one that another program has damaged.
    static func joinedRow(_ row: Row) -> OriginalRow? {
        guard let path = row["path"] as DatabaseValue?, !path.isNull else { return nil }
        do { return try OriginalRow(row: row) } catch { return nil }
    }

    /// Returns the original of a file. Nil for a file without one, and for a row that another program has damaged.
    package static func row(of id: FileID, _ db: Database) throws -> OriginalRow? {
        let statement = try db.cachedStatement(
            sql: "SELECT o.fileID, \(columns) FROM lfs_original o WHERE o.fileID = ?")
        return try RowResult<OriginalRow>.fetchAll(statement, arguments: [id]).first?.readable
    }

    /// Returns those of the ids that have an original.
    package static func existing(_ ids: some Collection<FileID>, _ db: Database) throws -> Set<FileID> {
        try FileID.fetchSet(
            db, sql: "SELECT fileID FROM lfs_original WHERE fileID IN (\(databaseQuestionMarks(count: ids.count)))",
            arguments: StatementArguments(ids))
    }

    package static func save(_ row: OriginalRow, _ db: Database) throws {
        let relativePath = DatabaseFolder(ofDatabase: db.mainPath).flatMap { row.relativePath(from: $0) }
        try db.cachedStatement(
            sql: """
                INSERT INTO lfs_original (fileID, path, relativePath, device, stamp) VALUES (?1, ?2, ?3, ?4, ?5)
                ON CONFLICT (fileID) DO UPDATE SET path = ?2, relativePath = ?3, device = ?4, stamp = ?5
                """
        ).execute(arguments: [row.fileID, row.path, relativePath, row.device, row.stamp])
    }

    package static func remove(_ id: FileID, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM lfs_original WHERE fileID = ?").execute(arguments: [id])
    }

    static func removeAll(_ db: Database) throws { try db.execute(sql: "DELETE FROM lfs_original") }
}

/// A row of `lfs_original`.
package struct OriginalRow: Hashable, Sendable, FetchableRecord {
    package let fileID: FileID
    /// The absolute path when the file was attached, as exact bytes.
    package let path: SourceID
    /// The absolute path if the original was moved together with the database. Nil if it is ``path``.
    package let movedPath: SourceID?
    /// The number of the file system, which may change when the disk is mounted again.
    package let device: Int64
    /// The inode, the size and the times of the original when its bytes were read.
    package let stamp: String

    package init(fileID: FileID, path: SourceID, device: Int64, stamp: String) {
        self.fileID = fileID
        self.path = path
        movedPath = nil
        self.device = device
        self.stamp = stamp
    }

    package init(row: Row) throws {
        let checked = CheckedRow(row, of: OriginalTable.name, name: "fileID")
        fileID = try checked.value("fileID")
        path = try checked.value("path")
        device = try checked.value("device")
        stamp = try checked.value("stamp")
        let relativePath: SourceID? = try checked.value("relativePath")
        let folder = DatabaseFolder(ofDatabase: try checked.value("databasePath") ?? "")
        let moved = folder.flatMap { relativePath?.absolute(from: $0) }
        movedPath = moved == path ? nil : moved
    }

    /// Returns the path of the original from the folder of the database.
    ///
    /// - Returns: nil if the two have no parent in common.
    fileprivate func relativePath(from folder: DatabaseFolder) -> SourceID? {
        RelativePath(to: path.bytes, from: folder.path).map { SourceID(bytes: $0.bytes) }
    }
}

/// The folder of the database file.
private struct DatabaseFolder {
    let path: [UInt8]

    /// - Parameter database: the path of the file as SQLite reports it. Empty for a database in memory.
    init?(ofDatabase database: String) {
        guard let slash = database.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        path = Array(Self.withoutPrivate(database[..<slash]).utf8)
    }

    /// Foundation omits the leading `/private` of the paths of apps and users. SQLite resolves the link and adds it.
    private static func withoutPrivate(_ path: Substring) -> Substring {
        #if canImport(Darwin)
        ["/private/var/", "/private/tmp/"].contains { path.hasPrefix($0) } ? path.dropFirst("/private".count) : path
        #else
        path
        #endif
    }
}

extension SourceID {
    /// Returns the absolute path of an original from its path relative to a folder.
    fileprivate func absolute(from folder: DatabaseFolder) -> SourceID? {
        RelativePath(bytes: bytes).absolute(from: folder.path).map(SourceID.init)
    }
}

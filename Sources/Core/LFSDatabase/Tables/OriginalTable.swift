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
    static let columns = "o.path, o.device, o.stamp"

    /// Returns the original of a row with ``columns``. Nil without one, and for one that another program has damaged.
    static func joinedRow(_ row: Row) -> OriginalRow? {
        guard let path = row["path"] as DatabaseValue?, !path.isNull else { return nil }
        do { return try OriginalRow(row: row) } catch { return nil }
    }

    /// Returns the original of a file. Nil for a file without one, and for a row that another program has damaged.
    package static func row(of id: FileID, _ db: Database) throws -> OriginalRow? {
        let rows = try RowResult<OriginalRow>.fetchAll(
            db, sql: "SELECT * FROM lfs_original WHERE fileID = ?", arguments: [id])
        return rows.first?.readable
    }

    package static func save(_ row: OriginalRow, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO lfs_original (fileID, path, device, stamp) VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT (fileID) DO UPDATE SET path = ?2, device = ?3, stamp = ?4
                """
        ).execute(arguments: [row.fileID, row.path, row.device, row.stamp])
    }

    package static func remove(_ id: FileID, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM lfs_original WHERE fileID = ?").execute(arguments: [id])
    }

    static func removeAll(_ db: Database) throws { try db.execute(sql: "DELETE FROM lfs_original") }
}

/// A row of `lfs_original`.
package struct OriginalRow: Hashable, Sendable, FetchableRecord {
    package let fileID: FileID
    /// The absolute path, as exact bytes.
    package let path: SourceID
    /// The number of the file system, which may change when the disk is mounted again.
    package let device: Int64
    /// The inode, the size and the times of the original when its bytes were read.
    package let stamp: String

    package init(fileID: FileID, path: SourceID, device: Int64, stamp: String) {
        self.fileID = fileID
        self.path = path
        self.device = device
        self.stamp = stamp
    }

    package init(row: Row) throws {
        let checked = CheckedRow(row, of: OriginalTable.name, name: "fileID")
        fileID = try checked.value("fileID")
        path = try checked.value("path")
        device = try checked.value("device")
        stamp = try checked.value("stamp")
    }
}

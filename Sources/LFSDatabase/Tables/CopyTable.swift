import Foundation
package import GRDB
package import LFSSystem

/// `lfs_copy`: which local copies were used or pinned on this device. The local store itself says which there are.
package enum CopyTable {
    // MARK: Pins

    package static func pin(_ id: FileID, _ db: Database) throws {
        let sql = """
            INSERT INTO lfs_copy (fileID, isPinned) VALUES (?, 1)
            ON CONFLICT (fileID) DO UPDATE SET isPinned = 1
            """
        try db.cachedStatement(sql: sql).execute(arguments: [id])
    }

    package static func unpin(_ id: FileID, _ db: Database) throws {
        try db.cachedStatement(sql: "UPDATE lfs_copy SET isPinned = 0 WHERE fileID = ?").execute(arguments: [id])
    }

    package static func isPinned(_ id: FileID, _ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM lfs_copy WHERE fileID = ? AND isPinned = 1)"
        return try Bool.fetchOne(db, sql: sql, arguments: [id]) ?? false
    }

    // MARK: Uses

    /// Writes that files were used, each at a time in milliseconds since 1970. Those without a row are passed over.
    ///
    /// Another process may have noted a later use. A time in the future comes from a clock that was set back since.
    package static func noteUses(
        _ uses: some Sequence<(key: FileID, value: Int64)>, now: Int64, _ db: Database
    ) throws {
        let statement = try db.cachedStatement(
            sql: """
                INSERT INTO lfs_copy (fileID, lastUsed) SELECT ?1, ?2 WHERE \(FileTable.contains("?1"))
                ON CONFLICT (fileID) DO UPDATE SET lastUsed =
                    CASE WHEN lastUsed > ?3 THEN excluded.lastUsed ELSE max(lastUsed, excluded.lastUsed) END
                """)
        for use in uses { try statement.execute(arguments: [use.key, use.value, now]) }
    }

    /// When a file was last used, in milliseconds since 1970; nil when it never was, as far as is known.
    package static func lastUse(of id: FileID, _ db: Database) throws -> Int64? {
        let time = try Int64.fetchOne(db, sql: "SELECT lastUsed FROM lfs_copy WHERE fileID = ?", arguments: [id])
        return time.flatMap { $0 > 0 ? $0 : nil }
    }

    // MARK: Eviction

    /// What the rows say of local copies, of those files that have a row, or one that comes back if a server rejects
    /// its deletion.
    package static func facts(of ids: some Collection<FileID>, _ db: Database) throws -> [CopyFacts] {
        let sql = """
            SELECT f.id, f.status, f.proof, f.contentType, f.createdAt, c.lastUsed, coalesce(c.isPinned, 0) AS isPinned,
                \(JobTable.contains("f.id")) AS hasJob
            FROM \(FileTable.name) f LEFT JOIN lfs_copy c ON c.fileID = f.id
            WHERE f.id IN (\(databaseQuestionMarks(count: ids.count)))
            UNION ALL \(TombstoneTable.heldCopies(count: ids.count))
            """
        let arguments = StatementArguments(ids) + StatementArguments(ids)
        return try Row.fetchAll(db, sql: sql, arguments: arguments).compactMap(CopyFacts.init)
    }

    static func removeAll(_ db: Database) throws { try db.execute(sql: "DELETE FROM lfs_copy") }
}

/// What the rows say of a local copy. What another program has written into them is no reason to evict or to keep it.
package struct CopyFacts: Sendable {
    package let id: FileID
    /// Whether the file is on the storage, with nothing known against its object.
    package let isUploaded: Bool
    package let isPinned: Bool
    /// Whether the storage vouches for the bytes.
    package let isProven: Bool
    package let contentType: String?
    /// When the file was made, in milliseconds since 1970.
    package let made: Int64
    /// The last use that was written down, in milliseconds since 1970.
    package let lastUse: Int64?

    fileprivate init?(_ row: Row) {
        guard let id = FileID.fromDatabaseValue(row["id"]) else { return nil }
        self.id = id
        // A job on a row that is `remote` says that its object is missing or wrong.
        isUploaded = FileRow.Status.fromDatabaseValue(row["status"]) == .remote && row["hasJob"] == false
        isPinned = Bool.fromDatabaseValue(row["isPinned"]) != false
        isProven = FileRow.Proof.fromDatabaseValue(row["proof"]) == .checksum
        contentType = String.fromDatabaseValue(row["contentType"])
        made = (Date.fromDatabaseValue(row["createdAt"]) ?? .distantPast).millisecondsSince1970
        lastUse = Int64.fromDatabaseValue(row["lastUsed"])
    }
}

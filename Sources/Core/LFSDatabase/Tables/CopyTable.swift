import Foundation
package import GRDB
package import LFSSystem

/// `lfs_copy`: the uses and pins of local copies on this device. Only the local store knows which copies exist.
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

    /// Saves the last uses of files, in milliseconds since 1970. Skips files without a row.
    ///
    /// Another process may have saved a later use. A time in the future comes from a clock that was set back since
    /// then.
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

    /// Returns the last use of a file in milliseconds since 1970, or nil if no use is known.
    package static func lastUse(of id: FileID, _ db: Database) throws -> Int64? {
        let time = try Int64.fetchOne(db, sql: "SELECT lastUsed FROM lfs_copy WHERE fileID = ?", arguments: [id])
        return time.flatMap { $0 > 0 ? $0 : nil }
    }

    // MARK: Eviction

    /// Returns the facts from the rows about local copies. Includes only files that have a row, or a held deletion
    /// whose row comes back if the server rejects it.
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

/// The facts from the rows about a local copy. Invalid values from another program do not throw. A row with an invalid
/// status is treated as not uploaded, and one with an invalid pin as pinned.
package struct CopyFacts: Sendable {
    package let id: FileID
    /// True if the file is on the storage and no problem with its object is recorded.
    package let isUploaded: Bool
    package let isPinned: Bool
    /// True if the storage has confirmed the checksum of the bytes.
    package let isProven: Bool
    package let contentType: String?
    /// The creation time of the file, in milliseconds since 1970.
    package let made: Int64
    /// The last saved use, in milliseconds since 1970.
    package let lastUse: Int64?

    fileprivate init?(_ row: Row) {
        guard let id = FileID.fromDatabaseValue(row["id"]) else { return nil }
        self.id = id
        // A job for a row that is `remote` means that its object is missing or wrong.
        isUploaded = FileRow.Status.fromDatabaseValue(row["status"]) == .remote && row["hasJob"] == false
        isPinned = Bool.fromDatabaseValue(row["isPinned"]) != false
        isProven = FileRow.Proof.fromDatabaseValue(row["proof"]) == .checksum
        contentType = String.fromDatabaseValue(row["contentType"])
        made = (Date.fromDatabaseValue(row["createdAt"]) ?? .distantPast).millisecondsSince1970
        lastUse = Int64.fromDatabaseValue(row["lastUsed"])
    }
}

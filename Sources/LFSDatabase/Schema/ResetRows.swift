package import GRDB

/// The rows' side of removing everything of a database from a device.
package enum ResetRows {
    /// Lets SQLite overwrite what the body deletes, and what was deleted before.
    ///
    /// Deleted rows stay in free pages otherwise, and in the log until ``eraseLog(_:)``.
    /// Source: SQLite, `PRAGMA secure_delete`.
    package static func erasing(_ db: Database, _ body: () throws -> Void) throws {
        let before = try Int.fetchOne(db, sql: "PRAGMA secure_delete") ?? 0
        try db.execute(sql: "PRAGMA secure_delete = ON")
        let result = Result {
            try overwriteFreePages(db)
            try body()
        }
        // 2 is FAST, which the pragma takes by its name only.
        try db.execute(sql: "PRAGMA secure_delete = \(before == 2 ? "FAST" : "\(before)")")
        try result.get()
    }

    /// Fills the free pages and frees them again.
    private static func overwriteFreePages(_ db: Database) throws {
        let count = try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0
        guard count > 0 else { return }
        let size = try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 4_096
        try db.execute(sql: "CREATE TABLE lfs_erasure (content BLOB)")
        // A page of a large value has four bytes less. The last pages come from behind the end of the file.
        let limit = 1 << 24
        var left = count * size
        while left > 0 {
            try db.execute(sql: "INSERT INTO lfs_erasure VALUES (zeroblob(?))", arguments: [min(left, limit)])
            left -= limit
        }
        try db.execute(sql: "DROP TABLE lfs_erasure")
    }

    /// Empties the log, which has deleted rows as they were. Outside of any transaction.
    ///
    /// - Throws: `DatabaseError` with `SQLITE_BUSY` while another connection reads or writes.
    package static func eraseLog(_ db: Database) throws {
        _ = try db.checkpoint(.truncate)
    }

    /// Deletes the rows and notes durably that the bytes follow. Their deletion is no deletion of the files, so it
    /// leaves no tombstones but those that are kept, and as ``StateTable/applying(_:_:)`` has it, no other device is
    /// told. To be called in a durable transaction.
    ///
    /// - Parameters:
    ///   - before: milliseconds since 1970: the bytes of files that were made earlier go as well.
    ///   - keepsTombstones: whether deletions stay that were asked for, and one is made for each file that was never
    ///     uploaded.
    ///   - alongside: deletes the host's own rows.
    package static func delete(
        before: Int64, keepsTombstones: Bool, _ db: Database, alongside: (Database) throws -> Void
    ) throws {
        try TombstoneTable.makeKept(db)
        if keepsTombstones { try TombstoneTable.noteKept(db) }
        try StateTable.applying(db) {
            try alongside(db)
            try FileTable.deleteAll(db)
        }
        try TombstoneTable.removeAllButKept(db)
        try JobTable.removeAll(db)
        try CopyTable.removeAll(db)
        try DisownedTable.removeAll(db)
        try SourceTable.removeAll(db)
        try Schema.removeReplaced(db)
        try StateTable.noteFailing(nil, db)
        try StateTable.beginReset(before: before, db)
    }
}

package import GRDB

/// The database part of a reset, which removes everything of a database from a device.
package enum ResetRows {
    /// Makes SQLite overwrite the rows that the body deletes, and all rows that were deleted before.
    ///
    /// Otherwise deleted rows stay in free pages, and in the log until ``eraseLog(_:)``. Source: SQLite, `PRAGMA
    /// secure_delete`.
    package static func erasing(_ db: Database, _ body: () throws -> Void) throws {
        let before = try Int.fetchOne(db, sql: "PRAGMA secure_delete") ?? 0
        try db.execute(sql: "PRAGMA secure_delete = ON")
        let result = Result {
            try overwriteFreePages(db)
            try body()
        }
        // 2 is FAST, which the pragma accepts only by name.
        try db.execute(sql: "PRAGMA secure_delete = \(before == 2 ? "FAST" : "\(before)")")
        try result.get()
    }

    /// Fills the free pages and frees them again.
    private static func overwriteFreePages(_ db: Database) throws {
        let count = try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0
        guard count > 0 else { return }
        let size = try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 4_096
        try db.execute(sql: "CREATE TABLE lfs_erasure (content BLOB)")
        // A page of a large value holds four bytes less, so the last pages are allocated past the end of the file.
        let limit = 1 << 24
        var left = count * size
        while left > 0 {
            try db.execute(sql: "INSERT INTO lfs_erasure VALUES (zeroblob(?))", arguments: [min(left, limit)])
            left -= limit
        }
        try db.execute(sql: "DROP TABLE lfs_erasure")
    }

    /// Empties the log, which still contains the deleted rows. Must be called outside of any transaction.
    ///
    /// - Throws: `DatabaseError` with `SQLITE_BUSY` while another connection reads or writes.
    package static func eraseLog(_ db: Database) throws {
        _ = try db.checkpoint(.truncate)
    }

    /// Deletes the rows and durably records that the bytes must be removed next. The files themselves are not deleted
    /// for other devices. So only the kept tombstones remain, and the rows are deleted within
    /// ``StateTable/applying(_:_:)``, which does not notify other devices. Must be called in a durable transaction.
    ///
    /// - Parameters:
    ///   - before: milliseconds since 1970. The bytes of all files created earlier are removed too.
    ///   - keepsTombstones: true to keep requested deletions, and to add one for each file that was never uploaded.
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
        try LoanTable.removeAllButDeleted(db)
        try JobTable.removeAll(db)
        try CopyTable.removeAll(db)
        try OwnerlessFileTable.removeAll(db)
        try SourceTable.removeAll(db)
        try OriginalTable.removeAll(db)
        try Schema.removeReplaced(db)
        try StateTable.noteFailing(nil, db)
        try StateTable.beginReset(before: before, db)
    }
}

package import GRDB

/// The rows' side of removing everything of a database from a device.
package enum ResetRows {
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

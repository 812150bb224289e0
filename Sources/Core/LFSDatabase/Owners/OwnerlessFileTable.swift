package import GRDB

/// `lfs_disowned`: files that an owner has released, or may have. After the commit the unreferenced ones are deleted.
package enum OwnerlessFileTable {
    package static let name = "lfs_disowned"

    /// A row of the table.
    package struct Note: Sendable {
        package let id: Int64
        /// The value of the host's column, unchanged.
        let fileID: String
    }

    /// Returns the rows that are due, and those whose time is further in the future than any delay.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - furthest: the latest time to which a deletion can be delayed, in milliseconds since 1970.
    package static func due(now: Int64, furthest: Int64, limit: Int, _ db: Database) throws -> [Note] {
        // Another program can have written a value that is not an id. It identifies no file, and blocks no other row.
        let sql = """
            SELECT id, coalesce(CAST(\(FileTable.whole("fileID")) AS TEXT), '') AS fileID FROM main.lfs_disowned
            WHERE notBefore <= ? OR notBefore > ? LIMIT ?
            """
        return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [now, furthest, limit]).map { row in
            let checked = CheckedRow(row, of: name)
            return Note(id: try checked.value("id"), fileID: try checked.value("fileID"))
        }
    }

    /// Returns the time when the next row is due, in milliseconds since 1970. Nil if none is waiting for a time.
    package static func nextDue(after now: Int64, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(
            db, sql: "SELECT min(notBefore) FROM lfs_disowned WHERE notBefore > ?", arguments: [now])
    }

    package static func count(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM lfs_disowned") ?? 0
    }

    /// Returns true if a row was not attempted yet.
    package static func hasUntried(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM lfs_disowned WHERE attempts = 0)") ?? false
    }

    /// Deletes those of the files that nothing refers to, and removes all the given rows.
    package static func deleteFiles(of notes: [Note], _ db: Database) throws {
        let references = try FileReference.all(db)
        for note in notes {
            if try !references.contains(where: { try $0.holds(note.fileID, db) }) {
                try FileTable.delete(note.fileID.databaseValue, db)
            }
            try db.execute(sql: "DELETE FROM main.lfs_disowned WHERE id = ?", arguments: [note.id])
        }
    }

    /// Removes the rows of files that a row of this owner still refers to.
    static func forget(heldBy owner: FileOwner, _ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM main.lfs_disowned
                WHERE EXISTS (SELECT 1 FROM main.\(owner.quotedTable) WHERE \(owner.quotedColumn) = fileID)
                """)
    }

    package static func putOff(_ note: Note, until notBefore: Int64, reason: String?, _ db: Database) throws {
        try db.execute(
            sql: """
                UPDATE main.lfs_disowned SET attempts = attempts + 1, notBefore = ?, errorMessage = ? WHERE id = ?
                """,
            arguments: [notBefore, reason, note.id])
    }

    /// Makes all failed rows due now and resets their attempts to zero. Returns their number.
    package static func retryAll(_ db: Database) throws -> Int {
        try db.execute(
            sql: "UPDATE lfs_disowned SET attempts = 0, notBefore = 0, errorMessage = NULL WHERE attempts > 0")
        return db.changesCount
    }

    static func removeAll(_ db: Database) throws { try db.execute(sql: "DELETE FROM lfs_disowned") }
}

/// A column whose values keep files from being deleted.
private struct FileReference {
    private let sql: String

    init(table: String, column: String) {
        let (table, column) = (table.quotedDatabaseIdentifier, column.quotedDatabaseIdentifier)
        sql = "SELECT EXISTS (SELECT 1 FROM main.\(table) WHERE \(column) = ?)"
    }

    func holds(_ id: String, _ db: Database) throws -> Bool {
        try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [id]) ?? false
    }

    /// Returns the owners, and foreign keys that would reject the deletion, some of them only at the commit.
    static func all(_ db: Database) throws -> [FileReference] {
        let keys = try Row.fetchAll(
            db,
            sql: """
                SELECT m.name AS tableName, f."from" AS columnName
                FROM main.sqlite_master m, pragma_foreign_key_list(m.name, 'main') f
                WHERE m.type = 'table' AND lower(f."table") = ? AND f.on_delete IN ('NO ACTION', 'RESTRICT')
                """,
            arguments: [FileTable.name])
        return try FileOwner.all(db).map { FileReference(table: $0.table, column: $0.column) }
            + keys.map { FileReference(table: $0["tableName"], column: $0["columnName"]) }
    }
}

package import GRDB

/// `lfs_disowned`: files that an owner has let go of, or may have. After the commit those go that nothing refers to.
package enum DisownedTable {
    package static let name = "lfs_disowned"

    /// A row of the table.
    package struct Note: Sendable {
        package let id: Int64
        /// As it stood in the host's column.
        let fileID: String
    }

    /// Those whose time has come, or is further away than any wait can be.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - furthest: the furthest that a deletion can be put off.
    package static func due(now: Int64, furthest: Int64, limit: Int, _ db: Database) throws -> [Note] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT id, fileID FROM main.lfs_disowned WHERE notBefore <= ? OR notBefore > ? LIMIT ?"),
            arguments: [now, furthest, limit]
        ).map { row in
            let checked = CheckedRow(row, of: name)
            return Note(id: try checked.value("id"), fileID: try checked.value("fileID"))
        }
    }

    /// When the next one comes due, in milliseconds since 1970; nil when none waits for a time.
    package static func nextDue(after now: Int64, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(
            db, sql: "SELECT min(notBefore) FROM lfs_disowned WHERE notBefore > ?", arguments: [now])
    }

    package static func count(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM lfs_disowned") ?? 0
    }

    /// Whether there is one that was not tried yet.
    package static func hasUntried(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM lfs_disowned WHERE attempts = 0)") ?? false
    }

    /// Deletes those of the files that nothing refers to, and the notes of all of them.
    package static func deleteFiles(of notes: [Note], _ db: Database) throws {
        let references = try FileReference.all(db)
        for note in notes {
            if try !references.contains(where: { try $0.holds(note.fileID, db) }) {
                try FileTable.delete(note.fileID.databaseValue, db)
            }
            try db.execute(sql: "DELETE FROM main.lfs_disowned WHERE id = ?", arguments: [note.id])
        }
    }

    /// Forgets the notes of files that a row of this owner refers to.
    static func forget(heldBy owner: FileOwner, _ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM main.lfs_disowned
                WHERE EXISTS (SELECT 1 FROM main.\(owner.quotedTable) WHERE \(owner.quotedColumn) = fileID)
                """)
    }

    package static func putOff(_ note: Note, until notBefore: Int64, _ reason: String?, _ db: Database) throws {
        try db.execute(
            sql: """
                UPDATE main.lfs_disowned SET attempts = attempts + 1, notBefore = ?, errorMessage = ? WHERE id = ?
                """,
            arguments: [notBefore, reason, note.id])
    }

    /// Lets all that have failed be tried now, with their count of tries at zero. Returns how many.
    package static func retryAll(_ db: Database) throws -> Int {
        try db.execute(
            sql: "UPDATE lfs_disowned SET attempts = 0, notBefore = 0, errorMessage = NULL WHERE attempts > 0")
        return db.changesCount
    }

    static func removeAll(_ db: Database) throws { try db.execute(sql: "DELETE FROM lfs_disowned") }
}

/// A column whose value keeps a file.
private struct FileReference {
    private let sql: String

    init(table: String, column: String) {
        let (table, column) = (table.quotedDatabaseIdentifier, column.quotedDatabaseIdentifier)
        sql = "SELECT EXISTS (SELECT 1 FROM main.\(table) WHERE \(column) = ?)"
    }

    func holds(_ id: String, _ db: Database) throws -> Bool {
        try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [id]) ?? false
    }

    /// The owners, and foreign keys that would refuse the deletion, some of them only at the commit.
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

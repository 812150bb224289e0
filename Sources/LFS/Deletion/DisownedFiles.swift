import Foundation
import GRDB
import LFSTransfer

/// Deletes the files that their owners have let go of, unless something still refers to them.
struct DisownedFiles: Sendable {
    let runner: BackgroundRunner
    let policy: RetryPolicy
    let wallClock: @Sendable () -> Date

    private static let batch = 500

    /// Works off the notes that are due. Each batch is looked at and deleted in one transaction, so no reference can come
    /// between. A file that the database refuses to delete keeps its note and a reason, and is tried again later.
    ///
    /// - Throws: ``LFSError/Code/unsuitableOwner``, database errors; nothing is deleted then.
    func delete() async throws {
        let now = wallClock().millisecondsSince1970
        let later = now + policy.maxRetryAfter.milliseconds
        while true {
            let notes = try await runner.read { db in try Note.due(db, now: now, far: later, limit: Self.batch) }
            if notes.isEmpty { return }
            do {
                try await delete(notes)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
                for note in notes { try await delete(note, orAgainAt: later) }
            }
        }
    }

    private func delete(_ notes: [Note]) async throws {
        try await runner.write { db in
            let references = try Reference.all(db)
            for note in notes {
                if try !references.contains(where: { try $0.holds(note.fileID, db) }) {
                    try db.execute(sql: "DELETE FROM main.lfs_file WHERE id = ?", arguments: [note.fileID])
                }
                try db.execute(sql: "DELETE FROM main.lfs_disowned WHERE id = ?", arguments: [note.id])
            }
        }
    }

    /// A reference that only a cascade would reach, or a rule of the host's, may stand against it, some at the commit.
    private func delete(_ note: Note, orAgainAt later: Int64) async throws {
        do {
            try await delete([note])
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            let reason = error.message
            try await runner.write { db in
                try db.execute(
                    sql: """
                        UPDATE main.lfs_disowned SET attempts = attempts + 1, notBefore = ?, errorMessage = ? WHERE id = ?
                        """,
                    arguments: [later, reason, note.id])
            }
        }
    }
}

/// A row of `lfs_disowned`.
private struct Note: Sendable {
    let id: Int64
    let fileID: FileData.ID

    /// Those whose time has come, or is further away than any wait can be.
    static func due(_ db: Database, now: Int64, far: Int64, limit: Int) throws -> [Note] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT id, fileID FROM main.lfs_disowned WHERE notBefore <= ? OR notBefore > ? LIMIT ?"),
            arguments: [now, far, limit]
        ).map { row in
            let checked = CheckedRow(row: row, table: "lfs_disowned")
            return Note(id: try checked.value("id"), fileID: try checked.value("fileID"))
        }
    }
}

/// A column whose value keeps a file.
private struct Reference {
    let sql: String

    init(table: String, column: String) {
        let (table, column) = (table.quotedDatabaseIdentifier, column.quotedDatabaseIdentifier)
        sql = "SELECT EXISTS (SELECT 1 FROM main.\(table) WHERE \(column) = ?)"
    }

    func holds(_ id: String, _ db: Database) throws -> Bool {
        try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [id]) ?? false
    }

    /// The owners, and foreign keys that would refuse the deletion, some of them only at the commit.
    static func all(_ db: Database) throws -> [Reference] {
        let keys = try Row.fetchAll(
            db,
            sql: """
                SELECT m.name AS tableName, f."from" AS columnName
                FROM main.sqlite_master m, pragma_foreign_key_list(m.name, 'main') f
                WHERE m.type = 'table' AND lower(f."table") = 'lfs_file' AND f.on_delete IN ('NO ACTION', 'RESTRICT')
                """)
        return try FileOwner.all(db).map { Reference(table: $0.table, column: $0.column) }
            + keys.map { Reference(table: $0["tableName"], column: $0["columnName"]) }
    }
}

import Foundation
import GRDB
import LFS

/// The table `uploader_moved` with documents whose originals were removed after their upload. `remove --gone` does not
/// remove these documents although their originals no longer exist.
enum MovedTable {
    private static let name = "uploader_moved"

    static let schema = """
        CREATE TABLE \(name) (
            -- Not a foreign key, because another device may remove the document.
            documentId TEXT PRIMARY KEY NOT NULL,
            movedAt REAL NOT NULL,
            -- 0 while the original is being removed, then 1.
            isDone INTEGER NOT NULL DEFAULT 0
        )
        """

    /// Records a document before its original is removed, so that it is not mistaken for a missing one after a kill.
    ///
    /// - Returns: false if the document has another file by now, or was removed. The original stays then.
    static func note(_ id: Document.ID, of file: FileData.ID, at time: Date, _ db: Database) throws -> Bool {
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO \(name)
                SELECT d.id, ?3, 0 FROM uploader_document d JOIN lfs_file f ON f.id = d.fileId
                WHERE d.id = ?1 AND d.fileId = ?2 AND f.status = 'remote'
                """
        ).execute(arguments: [id, file, time.timeIntervalSince1970])
        return db.changesCount > 0
    }

    /// Records that the originals of documents are removed. A document that has got a new original since then has no
    /// record any more, and gets none.
    static func finish(_ documents: [Document.ID], _ db: Database) throws {
        let statement = try db.cachedStatement(sql: "UPDATE \(name) SET isDone = 1 WHERE documentId = ?")
        for id in documents { try statement.execute(arguments: [id]) }
    }

    /// Returns the state of a document: nil if it is not recorded, false while its original is being removed.
    static func isDone(_ id: Document.ID, _ db: Database) throws -> Bool? {
        try Bool.fetchOne(db, sql: "SELECT isDone FROM \(name) WHERE documentId = ?", arguments: [id])
    }

    /// Returns the documents that a run has recorded but not finished, with their paths. The run was killed, or the
    /// originals stay.
    static func unfinished(_ db: Database) throws -> [(id: Document.ID, path: FilePath)] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT m.documentId, d.path FROM \(name) m JOIN uploader_document d ON d.id = m.documentId
                WHERE NOT m.isDone
                """)
        return rows.compactMap { row in
            guard let id = String.fromDatabaseValue(row[0]), let path = FilePath.fromDatabaseValue(row[1]) else {
                return nil
            }
            return (id, path)
        }
    }

    /// Removes the record of a document that has a new original, or no original of its own any more.
    static func remove(_ id: Document.ID, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM \(name) WHERE documentId = ?").execute(arguments: [id])
    }

    /// A document whose file was restored to the place of its original.
    struct Return: Sendable {
        let document: Document.ID
        let file: FileData.ID
        let path: FilePath
    }

    /// Removes the records of originals that exist again with their current content. A document that is being moved
    /// again keeps its record.
    static func remove(_ returns: [Return], _ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: """
                DELETE FROM \(name) WHERE documentId = ?1 AND isDone = 1
                    AND EXISTS (SELECT 1 FROM uploader_document WHERE id = ?1 AND fileId = ?2)
                """)
        for back in returns where !back.path.isGoneAsFile {
            try statement.execute(arguments: [back.document, back.file])
        }
    }

    /// Returns all documents in the table. Empty for the database of an older uploader.
    static func all(_ db: Database) throws -> Set<Document.ID> {
        guard try db.tableExists(name) else { return [] }
        let rows = try Row.fetchAll(db, sql: "SELECT documentId FROM \(name)")
        return Set(rows.compactMap { String.fromDatabaseValue($0[0]) })
    }

    /// An SQL expression whose value changes with every recorded document.
    static let state = "(SELECT count(*) || ':' || coalesce(max(movedAt), '') FROM \(name))"
}

import Foundation
import GRDB
import LFS

/// `uploader_moved`: documents whose originals went once they were on the storage. That one is not here any more is no
/// reason to remove it: see `remove --gone`.
enum MovedTable {
    private static let name = "uploader_moved"

    static let schema = """
        CREATE TABLE \(name) (
            -- A document may be removed by another device: it is no foreign key.
            documentId TEXT PRIMARY KEY NOT NULL,
            movedAt REAL NOT NULL,
            -- 0 from before the original goes until it is gone.
            isDone INTEGER NOT NULL DEFAULT 0
        )
        """

    /// Notes a document before its original goes, so that it is not taken for gone after a kill.
    ///
    /// - Returns: false when it has another file by now, or is removed: the original stays.
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

    /// Their originals are gone.
    static func finish(_ documents: [Document.ID], at time: Date, _ db: Database) throws {
        for id in documents {
            try db.cachedStatement(
                sql: """
                    INSERT INTO \(name) VALUES (?, ?, 1) ON CONFLICT (documentId) DO UPDATE SET isDone = 1
                    """
            ).execute(arguments: [id, time.timeIntervalSince1970])
        }
    }

    /// What a document is noted as: nil for nothing, false while its original is going.
    static func isDone(_ id: Document.ID, _ db: Database) throws -> Bool? {
        try Bool.fetchOne(db, sql: "SELECT isDone FROM \(name) WHERE documentId = ?", arguments: [id])
    }

    /// Those that a run has noted and not finished, because it was killed or because the originals stay, with their
    /// paths.
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

    /// A document has a new original, or none of its own any more.
    static func remove(_ id: Document.ID, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM \(name) WHERE documentId = ?").execute(arguments: [id])
    }

    /// A document whose file was written to the place of its original.
    struct Return: Sendable {
        let document: Document.ID
        let file: FileData.ID
        let path: FilePath
    }

    /// Forgets that originals are gone which are at their places again, with what they are now. One that is being moved
    /// anew stays noted.
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

    /// All of them; none in the database of an older uploader.
    static func all(_ db: Database) throws -> Set<Document.ID> {
        guard try db.tableExists(name) else { return [] }
        let rows = try Row.fetchAll(db, sql: "SELECT documentId FROM \(name)")
        return Set(rows.compactMap { String.fromDatabaseValue($0[0]) })
    }

    /// What changes with every one that is noted.
    static let state = "(SELECT count(*) || ':' || coalesce(max(movedAt), '') FROM \(name))"
}

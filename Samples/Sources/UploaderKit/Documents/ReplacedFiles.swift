import GRDB
import LFS

/// Old versions of changed files. One that is on the storage stays there until the new version is, so that the storage
/// never has neither; the table `uploader_replaced` holds them meanwhile, also for the run after one that was killed.
enum ReplacedFiles {
    /// Notes in the transaction which gives a document its new file that the old one goes later.
    static func replace(_ old: FileData, of document: Document.ID, _ db: Database) throws {
        // Another document may have the same bytes. With the last of them it goes.
        if try Bool.fetchOne(db, sql: "SELECT \(isOfDocument("?"))", arguments: [old.id]) == true { return }
        // It never was on the storage, and the bytes of the new version are durable here.
        guard old.status == .remote else { return _ = try old.delete(db) }
        try db.execute(
            sql: "INSERT OR REPLACE INTO uploader_replaced (fileId, documentId) VALUES (?, ?)",
            arguments: [old.id, document])
    }

    /// Deletes what a newer version on the storage has replaced. Its bytes go by themselves, as those of any deleted
    /// file.
    static func removeSettled(in database: any DatabaseWriter) async throws {
        // A look costs the writer nothing, and nearly always there is none.
        let isNeeded = try await database.read { db in
            try Bool.fetchOne(db, sql: "SELECT EXISTS (\(settled))") ?? false
        }
        guard isNeeded else { return }
        try await database.write { db in try db.execute(sql: "DELETE FROM lfs_file WHERE id IN (\(settled))") }
    }

    /// Deletes the old versions of a document that is removed.
    static func removeAll(of document: Document.ID, _ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM lfs_file WHERE id IN (SELECT fileId FROM uploader_replaced WHERE documentId = ?)
                    AND NOT \(isOfDocument("lfs_file.id"))
                """,
            arguments: [document])
    }

    private static let settled = """
        SELECT r.fileId FROM uploader_replaced r LEFT JOIN uploader_document d ON d.id = r.documentId
        LEFT JOIN lfs_file f ON f.id = d.fileId
        WHERE (d.id IS NULL OR f.status = 'remote')
            -- Its own document may have it again, and another one for the same bytes.
            AND NOT \(isOfDocument("r.fileId"))
        """

    /// Whether a document has the file.
    private static func isOfDocument(_ id: String) -> String {
        "EXISTS (SELECT 1 FROM uploader_document o WHERE o.fileId = \(id))"
    }
}

import GRDB
import LFS

/// Removes documents, and with the last one that has it the file.
struct Remover {
    let database: any DatabaseWriter
    let table: DocumentTable
    /// A transaction has so many, so that others who write do not wait for long.
    private static let batch = 500

    init(_ database: any DatabaseWriter, _ table: DocumentTable) { (self.database, self.table) = (database, table) }

    /// What was removed.
    struct Removed: Sendable {
        let path: FilePath
        let fileID: String
        /// Of the file's bytes; 0 while another document has them.
        let byteCount: Int64
    }

    func run(_ naming: FileNaming) async throws -> (removed: [Removed], refusals: [FileNaming.Refusal]) {
        let (files, refusals) = try await database.read { [table] db in try table.files(naming, db) }
        var removed: [Removed] = []
        for start in stride(from: 0, to: files.count, by: Self.batch) {
            let batch = files[start..<min(start + Self.batch, files.count)]
            removed += try await database.write { db in try batch.compactMap { try Self.remove($0, db) } }
        }
        return (removed, refusals)
    }

    /// - Returns: nil when another process was quicker.
    private static func remove(_ file: NamedFile, _ db: Database) throws -> Removed? {
        if file.isDocument {
            if let id = String.fromDatabaseValue(file.key) { try ReplacedFiles.removeAll(of: id, db) }
            try db.execute(sql: "DELETE FROM uploader_document WHERE id = ?", arguments: [file.key])
            guard db.changesCount > 0 else { return nil }
        }
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT byteCount FROM lfs_file
                WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM uploader_document d WHERE d.fileId = ?1)
                """, arguments: [file.fileKey])
        guard let row else {
            return file.isDocument ? Removed(path: file.path, fileID: file.fileID, byteCount: 0) : nil
        }
        try db.execute(sql: "DELETE FROM lfs_file WHERE id = ?", arguments: [file.fileKey])
        return Removed(
            path: file.path, fileID: file.fileID, byteCount: Int64.fromDatabaseValue(row[0]).map { max($0, 0) } ?? 0)
    }
}

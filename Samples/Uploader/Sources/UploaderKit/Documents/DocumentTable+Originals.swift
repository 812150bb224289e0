import GRDB
import LFS

extension DocumentTable {
    /// A file that this device has pushed.
    struct PushedFile: Sendable {
        let file: NamedFile
        let origin: Origin
        /// True if its original was removed on purpose, with 'push --move'.
        let isMoved: Bool
    }

    /// Returns those of the files that were attached without a copy. Empty for the database of an older LFS.
    static func filesInPlace(_ ids: [FileData.ID], _ db: Database) throws -> Set<FileData.ID> {
        guard try db.tableExists("lfs_original") else { return [] }
        return try FileData.ID.fetchSet(
            db, sql: "SELECT fileID FROM lfs_original WHERE fileID IN (\(databaseQuestionMarks(count: ids.count)))",
            arguments: StatementArguments(ids))
    }

    /// Returns the files that this device has pushed, in the order of their keys. Rows without a path are skipped,
    /// because the place of their originals is unknown.
    func pushedFiles(_ db: Database) throws -> [PushedFile] {
        guard isOurs else { return [] }
        let moved = try MovedTable.all(db)
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT d.id, d.fileId, d.path, d.title FROM uploader_document d JOIN lfs_file f ON f.id = d.fileId
                WHERE \(Self.isOwn) ORDER BY d.id
                """)
        var files: [PushedFile] = []
        while let row = try rows.next() {
            guard let path = FilePath.fromDatabaseValue(row[2]) else { continue }
            let file = NamedFile(
                Name(key: row[0], fileKey: row[1], path: path, isOwn: true), isDocument: true)
            files.append(
                PushedFile(
                    file: file, origin: Origin(path, title: String.fromDatabaseValue(row[3])),
                    isMoved: String.fromDatabaseValue(row[0]).map(moved.contains) ?? false))
        }
        return files
    }
}

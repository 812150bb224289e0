import GRDB
import LFS

extension DocumentTable {
    /// A file that this device has pushed.
    struct PushedFile: Sendable {
        let file: NamedFile
        /// The folder that was pushed; nil for a file that was pushed itself.
        let root: FilePath?
    }

    /// The files that this device has pushed, in the order of their keys, without those that were moved. Rows without a
    /// path are passed over: where their originals are nobody knows.
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
            if let id = String.fromDatabaseValue(row[0]), moved.contains(id) { continue }
            let file = NamedFile(
                Name(key: row[0], fileKey: row[1], path: path, isOwn: true), isDocument: true)
            let title = String.fromDatabaseValue(row[3]).map { FilePath($0).components.count } ?? 1
            let above = path.components.dropLast(max(title - 1, 0))
            let root = title > 1 ? FilePath(bytes: [0x2F] + Array(above.joined(separator: [0x2F]))) : nil
            files.append(PushedFile(file: file, root: root))
        }
        return files
    }
}

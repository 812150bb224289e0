import Foundation
import GRDB
import LFS
import LFSBackup

/// The uploader's record of a pushed file. It refers to a `FileData` with the bytes.
struct Document: FetchableRecord, PersistableRecord, Identifiable, Sendable {
    static let databaseTableName = "uploader_document"

    /// A UUID of version 7. See ``DocumentID``.
    var id: String
    /// The absolute path of the file. Files of two devices may have the same path.
    var path: FilePath
    /// The path relative to the pushed folder, including the folder's name, or the name of a pushed file.
    var title: String
    var addedAt: Date
    var fileId: FileData.ID
    /// The stamp of `LFSBackup` when the file was attached.
    var stamp: String

    init(id: String, path: FilePath, title: String, addedAt: Date, fileId: FileData.ID, stamp: String) {
        self.id = id
        self.path = path
        self.title = title
        self.addedAt = addedAt
        self.fileId = fileId
        self.stamp = stamp
    }

    /// - Throws: ``UploaderError`` for invalid values, because rows are untrusted input.
    init(row: Row) throws {
        id = try Self.text("id", row: row)
        guard let fileId = FileID(stored: row["fileId"]) else { throw Self.unusable("fileId", row: row) }
        self.fileId = fileId
        stamp = try Self.text("stamp", row: row)
        title = try Self.text("title", row: row)
        guard let path = FilePath.fromDatabaseValue(row["path"]) else { throw Self.unusable("path", row: row) }
        self.path = path
        // The value only informs readers of the table. An invalid date does not make the file unusable.
        addedAt = Date.fromDatabaseValue(row["addedAt"]) ?? Date(timeIntervalSince1970: 0)
    }

    /// The modification time and the permissions. Nil if the stamp does not contain them.
    var attributes: FileAttributes? { FileAttributes(stamp: stamp) }

    func encode(to container: inout PersistenceContainer) {
        (container["id"], container["path"], container["title"]) = (id, path, title)
        (container["addedAt"], container["fileId"], container["stamp"]) = (addedAt, fileId, stamp)
    }

    /// Does what `insert(_:)` does, in a third of the time: GRDB composes the statement again for each record, and
    /// formats dates by Foundation.
    func insertRow(_ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO uploader_document (id, path, title, addedAt, fileId, stamp)
                VALUES (?, ?, ?, strftime('%Y-%m-%d %H:%M:%f', ?, 'unixepoch'), ?, ?)
                """
        ).execute(arguments: [id, path, title, addedAt.timeIntervalSince1970, fileId, stamp])
    }

    private static func text(_ column: String, row: Row) throws -> String {
        guard let text = String.fromDatabaseValue(row[column]) else { throw unusable(column, row: row) }
        return text
    }

    private static func unusable(_ column: String, row: Row) -> UploaderError {
        UploaderError("its row in \(databaseTableName) has no usable \(column): another program has written it")
    }
}

/// A document with its file, read in one query.
struct AttachedDocument: FetchableRecord, Sendable {
    var document: Document
    var file: FileData

    init(row: Row) throws {
        guard let document = row.scopes["document"], let file = row.scopes["file"] else {
            throw UploaderError("its row was read without its columns")
        }
        self.document = try Document(row: document)
        self.file = try FileData(row: file)
    }

    /// An adapter for rows with the six columns of a document, followed by those of its file.
    static let adapter: any RowAdapter & Sendable = ScopeAdapter([
        "document": RangeRowAdapter(0..<6), "file": SuffixRowAdapter(fromIndex: 6),
    ])

    static func decode(_ row: Row) -> Result<AttachedDocument, UnusableRow> {
        do { return .success(try AttachedDocument(row: row)) } catch {
            return .failure(
                UnusableRow(fileID: String.fromDatabaseValue(row["fileId"]) ?? "?", reason: ErrorMessages.of(error)))
        }
    }
}

/// An unusable row, with the reason. It does not affect other rows.
struct UnusableRow: Error, Sendable {
    /// The file's id, or `?` if it is not text.
    let fileID: String
    let reason: String
}

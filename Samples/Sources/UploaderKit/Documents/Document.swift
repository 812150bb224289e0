import Foundation
import GRDB
import LFS
import LFSBackup

/// The uploader's own record: one for each file that was pushed. Its bytes are the `FileData` that it refers to.
struct Document: FetchableRecord, PersistableRecord, Identifiable, Sendable {
    static let databaseTableName = "uploader_document"

    /// UUID version 7: see ``DocumentID``.
    var id: String
    /// Where the file was, from the root of the file system. Two devices may have the same path.
    var path: FilePath
    /// The path from the name of the folder that was pushed on, or the file's name.
    var title: String
    var addedAt: Date
    var fileId: FileData.ID
    /// What the file looked like when it was attached: the stamp of `LFSBackup`.
    var stamp: String

    init(id: String, path: FilePath, title: String, addedAt: Date, fileId: FileData.ID, stamp: String) {
        (self.id, self.path, self.title) = (id, path, title)
        (self.addedAt, self.fileId, self.stamp) = (addedAt, fileId, stamp)
    }

    /// - Throws: ``UploaderError`` for values that no uploader writes: rows are input.
    init(row: Row) throws {
        id = try Self.text("id", row)
        guard let fileId = FileID(stored: row["fileId"]) else { throw Self.unusable("fileId", row) }
        self.fileId = fileId
        stamp = try Self.text("stamp", row)
        title = try Self.text("title", row)
        guard let path = FilePath.fromDatabaseValue(row["path"]) else { throw Self.unusable("path", row) }
        self.path = path
        // Only kept for who looks into the table; one that is none is no reason to refuse the file.
        addedAt = Date.fromDatabaseValue(row["addedAt"]) ?? Date(timeIntervalSince1970: 0)
    }

    /// When the content was changed last, and the permissions; nil for a stamp that tells nothing of it.
    var attributes: FileAttributes? { FileAttributes(stamp: stamp) }

    func encode(to container: inout PersistenceContainer) {
        (container["id"], container["path"], container["title"]) = (id, path, title)
        (container["addedAt"], container["fileId"], container["stamp"]) = (addedAt, fileId, stamp)
    }

    private static func text(_ column: String, _ row: Row) throws -> String {
        guard let text = String.fromDatabaseValue(row[column]) else { throw unusable(column, row) }
        return text
    }

    private static func unusable(_ column: String, _ row: Row) -> UploaderError {
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

    /// For rows of the six columns of a document, and then those of its file.
    static let adapter: any RowAdapter & Sendable = ScopeAdapter([
        "document": RangeRowAdapter(0..<6), "file": SuffixRowAdapter(fromIndex: 6),
    ])

    static func decode(_ row: Row) -> Result<AttachedDocument, UnusableRow> {
        do { return .success(try AttachedDocument(row: row)) } catch {
            return .failure(
                UnusableRow(fileID: String.fromDatabaseValue(row["fileId"]) ?? "?", reason: Words.of(error)))
        }
    }
}

/// A row that cannot be used, with the reason. The others go on.
struct UnusableRow: Error, Sendable {
    /// The file's id, as far as it is text.
    let fileID: String
    let reason: String
}

public import GRDB
public import LFS
import LFSSync

/// A picture's file and its upload, which a badge shows.
public struct StoredImage: Hashable, Sendable, FetchableRecord {
    /// The file: its size, its type and its storage state.
    public let file: FileData
    /// The picture's upload. Nil if it is complete, or if another device uploads the file.
    public let upload: Upload?

    /// Creates an image for tests and previews of an app.
    public init(file: FileData, upload: Upload?) {
        self.file = file
        self.upload = upload
    }

    /// Reads the row of a file that joins its upload.
    ///
    /// - Throws: The errors of both rows.
    public init(row: Row) throws {
        file = try FileData(row: row)
        upload = try row.decodeIfPresent(Upload.self, forKey: "upload")
    }
}

extension StoredImage {
    /// Returns the image of one file, or nil if no row has the id.
    ///
    /// - Throws: The errors of ``init(row:)``.
    public static func one(_ id: FileID, _ db: Database) throws -> StoredImage? {
        try FileData.filter(key: id).including(optional: FileData.upload).asRequest(of: StoredImage.self).fetchOne(db)
    }

    /// Returns the images of files in any order. Ids without a row are left out.
    ///
    /// - Throws: The errors of ``init(row:)``.
    public static func some(_ ids: [FileID], _ db: Database) throws -> [StoredImage] {
        try readable(FileData.filter(keys: ids), db)
    }

    /// Returns the images of the newest files, the newest first.
    ///
    /// - Throws: The errors of ``init(row:)``.
    public static func newest(_ limit: Int, _ db: Database) throws -> [StoredImage] {
        try readable(FileData.order(FileData.Columns.id.desc).limit(limit), db)
    }

    /// Returns the images of files without those that another account has shared and that cannot be read. A damaged row
    /// of another account must not hide the other rows.
    private static func readable(_ files: QueryInterfaceRequest<FileData>, _ db: Database) throws -> [StoredImage] {
        try Row.fetchAll(db, files.including(optional: FileData.upload)).compactMap { row in
            do {
                return try StoredImage(row: row)
            } catch let error as LFSError where error.code == .invalidRow {
                guard let id = String.fromDatabaseValue(row["id"]),
                    try SyncedTable.isForeign(id, in: FileData.databaseTableName, db)
                else { throw error }
                return nil
            }
        }
    }

    /// Returns the images of files by the files' ids, in the form that rows have.
    static func all(_ ids: [String], _ db: Database) throws -> [String: StoredImage] {
        let images = try some(ids.compactMap { FileID($0) }, db)
        return Dictionary(images.map { ("\($0.file.id)", $0) }) { first, _ in first }
    }
}

public import GRDB
public import LFS

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
        try FileData.filter(keys: ids).including(optional: FileData.upload).asRequest(of: StoredImage.self)
            .fetchAll(db)
    }

    /// Returns the images of the newest files, the newest first.
    ///
    /// - Throws: The errors of ``init(row:)``.
    public static func newest(_ limit: Int, _ db: Database) throws -> [StoredImage] {
        try FileData.including(optional: FileData.upload).order(FileData.Columns.id.desc).limit(limit)
            .asRequest(of: StoredImage.self).fetchAll(db)
    }

    /// Returns the images of files by the files' ids, in the form that rows have.
    static func all(_ ids: [String], _ db: Database) throws -> [String: StoredImage] {
        let images = try some(ids.compactMap { FileID($0) }, db)
        return Dictionary(images.map { ("\($0.file.id)", $0) }) { first, _ in first }
    }
}

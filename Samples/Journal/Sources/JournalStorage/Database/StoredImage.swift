public import GRDB
public import LFS

/// A picture's file, and what still has to become of it: what a badge shows.
public struct StoredImage: Hashable, Sendable, FetchableRecord {
    /// Its size, its type, and whether it is on the storage.
    public let file: FileData
    /// Its upload; nil when it is through, or another device's to do.
    public let upload: Upload?

    /// Reads the row of a file that joins its upload.
    ///
    /// - Throws: the errors of both rows.
    public init(row: Row) throws {
        file = try FileData(row: row)
        upload = try row.decodeIfPresent(Upload.self, forKey: "upload")
    }
}

extension StoredImage {
    /// Those of some files by the files' ids, as rows have them.
    static func all(_ ids: [String], _ db: Database) throws -> [String: StoredImage] {
        let files = FileData.filter(keys: ids.compactMap { FileID($0) })
        let images = try files.including(optional: FileData.upload).asRequest(of: StoredImage.self).fetchAll(db)
        return Dictionary(images.map { ("\($0.file.id)", $0) }) { first, _ in first }
    }
}

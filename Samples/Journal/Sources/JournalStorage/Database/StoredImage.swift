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
        upload = row["upload"]
    }
}

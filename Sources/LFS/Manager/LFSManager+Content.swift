public import GRDB
import LFSDatabase
import LFSSystem

/// One file for equal bytes.
extension LFSManager {
    /// Inserts a file that was made, or finds one with the same bytes that is there already, so that they are uploaded
    /// once. The record has to refer to the file that is returned, within the same transaction.
    ///
    /// ```swift
    /// let made = try await lfs.makeFile(from: .file(url))
    /// let photo = try await database.write { db in
    ///     let photo = try lfs.insertOrReuse(made, in: db)
    ///     try Recipe(title: title, photoId: photo.id).insert(db)
    ///     return photo
    /// }
    /// if photo.id != made.id { try await lfs.discard(made) }
    /// ```
    ///
    /// Equal are files with the same SHA-256 and size. A file counts that this database has made, of which nothing is
    /// known to be wrong, and that is proven to be on the storage or has its bytes here and waits for its upload; with
    /// any other one the bytes at hand are inserted. While another device may have deleted the file, because this
    /// database takes part in sync, there is none.
    ///
    /// Records that share a file need ``FileData/deletedWithOwner(_:column:in:)``, which keeps it until the last of
    /// them goes, and must not delete it themselves. It keeps its own name and media type. Call it on the connection
    /// that the manager was opened with, in a write: what is looked up in a transaction before may be gone.
    ///
    /// - Returns: the file that was made, or the one to refer to instead; ``discard(_:)`` the made one then.
    /// - Throws: as ``FileData/insertAndFetch(_:onConflict:)``.
    public func insertOrReuse(_ file: FileData, in db: Database) throws -> FileData {
        do {
            for row in try FileTable.sameContent(file.row, limit: 8, db) where try isReliable(row) {
                return FileData(row)
            }
        } catch {
            throw LFSError.wrapping(error)
        }
        try file.insert(db)
        return file
    }

    /// Whether the bytes are proven to be elsewhere, or are here.
    private func isReliable(_ row: FileRow) throws -> Bool {
        if row.status == .remote, row.proof == .checksum { return true }
        return try places.contains(row.id)
    }
}

extension FileData {
    /// Files with the same bytes as this one, itself among them: those with its SHA-256 and size, which an index finds.
    ///
    /// It tells nothing of how they are; ``LFSManager/insertOrReuse(_:in:)`` takes only those that can be relied on.
    public static func withContent(_ file: FileData) -> QueryInterfaceRequest<FileData> {
        filter(Columns.sha256 == file.sha256 && Columns.byteCount == file.byteCount)
    }
}

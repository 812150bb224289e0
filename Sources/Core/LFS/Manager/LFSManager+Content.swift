public import GRDB
import LFSDatabase
import LFSSystem

/// Reuse of one file for equal bytes.
extension LFSManager {
    /// Inserts a file that was made, or finds an existing file with the same bytes, so that the bytes are uploaded only
    /// once. The record must refer to the returned file, within the same transaction.
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
    /// Two files are equal when they have the same SHA-256 and size. An existing file is reused only if this database
    /// made it, no damage of it is known, and its bytes are safe. They are safe when they are proven to be on the
    /// storage, or when they are on this device and their upload is pending. Otherwise the made file is inserted. A
    /// database that takes part in sync never reuses a file, because another device may have deleted it.
    ///
    /// Records that share a file need ``FileData/deletedWithOwner(_:column:in:)``, which keeps the file until the last
    /// of its records is deleted. They must not delete the file themselves. A reused file keeps its own name and media
    /// type.
    ///
    /// Call this method in a write on the connection that the manager was opened with. A file that was looked up in an
    /// earlier transaction may be deleted by now.
    ///
    /// - Returns: the file that was made, or the existing file to refer to instead. In the second case call
    ///   ``discard(_:)`` on the made file.
    /// - Throws: the errors of ``FileData/insertAndFetch(_:onConflict:)``.
    public func insertOrReuse(_ file: FileData, in db: Database) throws -> FileData {
        try insertOrReuse(file, reusesOriginals: false, in: db)
    }

    /// Does the same, and may also reuse a file that waits for its upload from another original in its place.
    ///
    /// If that original changes before the upload, the file fails, although the given one still has the bytes. Only a
    /// caller that notices this and restores the file may reuse it.
    package func insertOrReuse(
        _ file: FileData, reusesOriginals: Bool, in db: Database
    ) throws -> FileData {
        let reusesOriginals = reusesOriginals && file.original != nil
        do {
            for row in try FileTable.sameContent(file.row, limit: 8, db) {
                if try isReliable(row) { return FileData(row) }
                if reusesOriginals, try OriginalTable.row(of: row.id, db).map(OriginalFile.init)?.openUnchanged() != nil
                {
                    return FileData(row)
                }
            }
        } catch {
            throw LFSError.wrapping(error)
        }
        try file.insertRow(db)
        return file
    }

    /// Returns whether the bytes are proven to be on the storage, or are on this device.
    private func isReliable(_ row: FileRow) throws -> Bool {
        if row.status == .remote, row.proof == .checksum { return true }
        return try places.contains(row.id)
    }
}

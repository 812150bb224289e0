public import Foundation
import GRDB
public import LFS

/// A picture that was deleted, and that can be restored until it is deleted finally.
public struct DeletedImage: Hashable, Sendable {
    /// The file of the picture, which is still stored, and its upload.
    public let image: StoredImage
    /// The id of the picture's record.
    public let recordID: UUID
    /// The time of the deletion. Nil if the row has an invalid value.
    public let deletedAt: Date?
}

/// Pictures that were deleted can be restored for some time, on each device of the account.
extension DatabaseStorageService {
    /// Hides a picture of a record. Its bytes are kept until ``emptyTrash(before:)`` deletes it.
    ///
    /// - Parameter date: The time of the deletion, which the other devices of the account receive too.
    /// - Throws: ``FileStorageError/imageNotFound(name:reason:)``, ``FileStorageError/fileWriteFailed(name:reason:)``.
    public func trashImage(_ file: FileData.ID, for record: TimeRecord, at date: Date = Date()) async throws {
        try await write("\(file)") { db in
            guard try PictureTable.trash(file, of: record.id, at: date, db) else {
                throw FileStorageError.noBytes("\(file)")
            }
        }
    }

    /// Hides pictures of any records. Other files, and pictures that are already hidden, are left out.
    public func trashImages(_ files: [FileData.ID], at date: Date = Date()) async throws {
        try await write("The pictures") { db in
            for file in files { _ = try PictureTable.trash(file, at: date, db) }
        }
    }

    /// Returns the pictures that can be restored, the last deleted first.
    public func loadDeletedImages(limit: Int) async throws -> [DeletedImage] {
        let sql = """
            SELECT recordId, fileId, deletedAt FROM picture INDEXED BY picture_deleted
            WHERE deletedAt IS NOT NULL ORDER BY deletedAt DESC LIMIT ?
            """
        return try await read("The deleted pictures") { db in
            let rows = try Row.fetchAll(db, sql: sql, arguments: [limit])
            let images = try StoredImage.all(rows.compactMap { String.fromDatabaseValue($0[1]) }, db)
            return rows.compactMap { row in
                guard let record = String.fromDatabaseValue(row[0]).flatMap(UUID.init(text:)),
                    let image = String.fromDatabaseValue(row[1]).flatMap({ images[$0] })
                else { return nil }
                // Another program may have written any value.
                let time = Int.fromDatabaseValue(row[2]).flatMap { Timestamp.storable.contains($0) ? $0 : nil }
                return DeletedImage(
                    image: image, recordID: record, deletedAt: time.map(Date.init(millisecondsSince1970:)))
            }
        }
    }

    /// Returns a deleted picture to its record, at its earlier place.
    ///
    /// - Throws: ``FileStorageError/imageNotFound(name:reason:)`` if it was deleted finally or is not deleted.
    ///   ``FileStorageError/fileWriteFailed(name:reason:)``.
    public func restoreImage(_ file: FileData.ID) async throws {
        try await write("\(file)") { db in
            guard try PictureTable.restore(file, db) else { throw FileStorageError.noBytes("\(file)") }
        }
    }

    /// Deletes a picture finally that could be restored. Nothing happens if no deleted picture has the file.
    public func deleteTrashedImage(_ file: FileData.ID) async throws {
        try await write("\(file)") { db in
            try db.execute(sql: "DELETE FROM picture WHERE fileId = ? AND deletedAt IS NOT NULL", arguments: [file])
        }
    }

    /// Deletes all pictures finally that were deleted before a time.
    ///
    /// - Returns: The number of these pictures.
    @discardableResult public func emptyTrash(before date: Date) async throws -> Int {
        // A value that is not a number compares as larger.
        let sql = "DELETE FROM picture INDEXED BY picture_deleted WHERE deletedAt < ?"
        return try await write("The deleted pictures") { db in
            try db.execute(sql: sql, arguments: [date.millisecondsSince1970])
            return db.changesCount
        }
    }

    // MARK: Expiry

    /// Deletes the pictures finally that were deleted some days ago, both by the time in their row and by the time for
    /// which this device has known the deletion. Call this about once an hour.
    ///
    /// The clock of the device that deleted the picture may be wrong, and so may the clock of this device. Therefore
    /// the table `picture_trash` adds up the time between calls. A pause of more than seven days counts as seven days,
    /// so that no single wrong time deletes a picture.
    public func expireTrash(after days: Int, now date: Date = Date()) async throws {
        let (now, day) = (date.millisecondsSince1970, 86_400_000)
        try await write("The deleted pictures") { db in
            // Restored pictures.
            try db.execute(
                sql: """
                    DELETE FROM picture_trash
                    WHERE NOT EXISTS (SELECT 1 FROM picture WHERE id = pictureId AND deletedAt IS NOT NULL)
                    """)
            // A clock that was set back adds nothing.
            try db.execute(
                sql: "UPDATE picture_trash SET age = age + min(max(?1 - seenAt, 0), ?2), seenAt = ?1",
                arguments: [now, 7 * day])
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO picture_trash (pictureId, age, seenAt)
                    SELECT id, 0, ? FROM picture INDEXED BY picture_deleted WHERE deletedAt IS NOT NULL
                    """, arguments: [now])
            // A value that is not a number compares as larger.
            try db.execute(
                sql: """
                    DELETE FROM picture INDEXED BY picture_deleted WHERE deletedAt < ?
                        AND EXISTS (SELECT 1 FROM picture_trash WHERE pictureId = picture.id AND age >= ?)
                    """, arguments: [now - days * day, days * day])
        }
    }
}

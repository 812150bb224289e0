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
        try await read("The deleted pictures") { db in try PictureTable.trashed(limit, db) }
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
        _ = try await write("\(file)") { db in try PictureTable.empty(file, before: .distantPast, db) }
    }

    /// Deletes the pictures finally that were deleted some days ago, if this device has also known the deletion for as
    /// many days. Call this about once an hour.
    ///
    /// One call counts as at most seven days since the last one, so that a clock that is wrong for a while deletes
    /// nothing.
    public func expireTrash(after days: Int, now: Date = Date()) async throws {
        try await write("The deleted pictures") { db in try PictureTable.expire(after: days, now: now, db) }
    }

    /// Deletes all pictures finally that were deleted before a time.
    ///
    /// - Returns: The number of these pictures.
    @discardableResult public func emptyTrash(before date: Date) async throws -> Int {
        try await write("The deleted pictures") { db in try PictureTable.empty(nil, before: date, db) }
    }
}

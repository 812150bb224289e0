public import Foundation
public import LFS

/// What pages of a timeline show, in the database form only.
extension DatabaseStorageService {
    /// The newest records before a place in the timeline, newest first.
    ///
    /// - Parameters:
    ///   - place: the last record of the page before; nil for the newest page.
    ///   - limit: how many at the most.
    ///   - withImages: whether records without pictures are left out.
    /// - Throws: ``FileStorageError/fileReadFailed(name:reason:)``.
    public func loadRecords(
        before place: TimelinePlace?, limit: Int, withImages: Bool = false
    ) async throws -> [TimeRecord] {
        try await read("The records") { db in
            try Self.contents(.page(before: place, limit: limit, withImages: withImages), db).records.reversed()
        }
    }

    /// The files of all pictures of some records by the pictures' names, each with its upload if it has one.
    ///
    /// - Throws: ``FileStorageError/fileReadFailed(name:reason:)``.
    public func storedImages(of records: [TimeRecord]) async throws -> [String: StoredImage] {
        let ids = records.filter { !$0.images.isEmpty }.map(\.id)
        return try await read("The pictures") { db in
            var images: [String: StoredImage] = [:]
            for id in ids {
                images.merge(try PictureTable.images(of: id, db)) { first, _ in first }
            }
            return images
        }
    }
}

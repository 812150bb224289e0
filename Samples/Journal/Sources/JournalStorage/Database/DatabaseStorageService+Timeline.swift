public import Foundation
import LFS

/// Queries for pages of a timeline, which only the database implementation has.
extension DatabaseStorageService {
    /// Returns the newest records before a place in the timeline, newest first.
    ///
    /// - Parameters:
    ///   - place: The last record of the previous page. Nil for the newest page.
    ///   - limit: The maximum number of records.
    public func loadRecords(before place: TimelinePlace?, limit: Int) async throws -> [TimeRecord] {
        try await read("The records") { db in
            try Self.contents(.page(before: place, limit: limit), db).records.reversed()
        }
    }

    /// Returns the files of pictures of some records by the pictures' names, each with its upload if it has one.
    ///
    /// - Parameter limit: The maximum number of pictures of each record, its first ones. Nil for all.
    public func storedImages(of records: [TimeRecord], limit: Int? = nil) async throws -> [String: StoredImage] {
        let ids = records.filter { !$0.images.isEmpty }.map(\.id)
        return try await read("The pictures") { db in
            var images: [String: StoredImage] = [:]
            for id in ids {
                images.merge(try PictureTable.images(of: id, limit: limit, db)) { first, _ in first }
            }
            return images
        }
    }

    /// Returns the months with pictures, the newest first. A picture belongs to the month in which its record starts.
    ///
    /// - Parameter timeZone: The time zone that determines the months.
    public func loadPictureMonths(in timeZone: TimeZone) async throws -> [PictureMonth] {
        let calendar = JournalDay.calendar(in: timeZone)
        return try await read("The pictures") { db in try PictureTable.months(calendar, db) }
    }

    /// Returns the pictures of records that start in a range of time, those of the newest record first.
    ///
    /// - Parameters:
    ///   - count: The number of pictures that are skipped.
    ///   - limit: The maximum number of pictures.
    public func loadPictures(
        from start: Date, to end: Date, skipping count: Int = 0, limit: Int
    ) async throws -> [TimelineImage] {
        try await read("The pictures") { db in
            try PictureTable.pictures(from: start, to: end, skipping: count, limit: limit, db)
        }
    }

    /// Returns the pictures that match a search, the newest first.
    public func loadPictures(matching search: PictureSearch, limit: Int) async throws -> [TimelineImage] {
        try await read("The pictures") { db in try PictureTable.pictures(matching: search, limit: limit, db) }
    }
}

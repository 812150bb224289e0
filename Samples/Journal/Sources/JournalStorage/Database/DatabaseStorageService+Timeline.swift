public import Foundation
import GRDB
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

    // MARK: The grid of pictures

    /// The largest number of months that are returned. Rows may have any times.
    private static let maxMonths = 1_200

    /// Returns the months with pictures, the newest first. A picture belongs to the month in which its record starts.
    ///
    /// - Parameter timeZone: The time zone that determines the months.
    public func loadPictureMonths(in timeZone: TimeZone) async throws -> [PictureMonth] {
        let calendar = JournalDay.calendar(in: timeZone)
        let newest = """
            SELECT CAST(startedAt AS INTEGER) FROM record INDEXED BY record_start
            WHERE startedAt < ? AND startedAt >= ?
                AND EXISTS (SELECT 1 FROM picture WHERE recordId = record.id AND deletedAt IS NULL)
            ORDER BY startedAt DESC LIMIT 1
            """
        let count = """
            SELECT count(*) FROM record INDEXED BY record_start CROSS JOIN picture ON picture.recordId = record.id
            WHERE startedAt >= ? AND startedAt < ? AND deletedAt IS NULL
            """
        return try await read("The pictures") { db in
            var months: [PictureMonth] = []
            var end = Timestamp.storable.upperBound
            while months.count < Self.maxMonths,
                let time = try Int.fetchOne(
                    db.cachedStatement(sql: newest), arguments: [end, Timestamp.storable.lowerBound])
            {
                let date = Date(millisecondsSince1970: time)
                guard let interval = calendar.dateInterval(of: .month, for: date) else { break }
                let start = min(interval.start.millisecondsSince1970, time)
                let pictures = try Int.fetchOne(db.cachedStatement(sql: count), arguments: [start, end])
                months.append(PictureMonth(start: interval.start, end: interval.end, count: pictures ?? 0))
                end = start
            }
            return months
        }
    }

    private static let shown = """
        SELECT record.id, startedAt, endedAt, timeZone, comment, fileId,
            (SELECT count(*) FROM picture other WHERE other.recordId = record.id AND other.deletedAt IS NULL
                AND (other.position, other.id) <= (picture.position, picture.id)) AS place
        FROM record INDEXED BY record_start CROSS JOIN picture ON picture.recordId = record.id
        WHERE deletedAt IS NULL
        """
    private static let newestFirst = "ORDER BY startedAt DESC, record.id DESC, position, picture.id"

    /// Returns the pictures of records that start in a range of time, those of the newest record first.
    ///
    /// - Parameters:
    ///   - count: The number of pictures that are skipped.
    ///   - limit: The maximum number of pictures.
    public func loadPictures(
        from start: Date, to end: Date, skipping count: Int = 0, limit: Int
    ) async throws -> [TimelineImage] {
        try await pictures(
            "\(Self.shown) AND startedAt >= ? AND startedAt < ? \(Self.newestFirst) LIMIT ? OFFSET ?",
            arguments: [start.millisecondsSince1970, end.millisecondsSince1970, limit, count])
    }

    /// Returns the pictures that match all words of a search, the newest first.
    public func loadPictures(matching search: PictureSearch, limit: Int) async throws -> [TimelineImage] {
        var (conditions, arguments): (String, StatementArguments) = ("", [])
        for word in search.words {
            conditions += """
                 AND (comment LIKE ? ESCAPE '\\'
                    OR EXISTS (SELECT 1 FROM record_tag JOIN tag ON tag.id = tagId
                        WHERE recordId = record.id AND tag.name LIKE ? ESCAPE '\\')
                    OR EXISTS (SELECT 1 FROM album_asset JOIN album ON album.id = albumId
                        WHERE album_asset.fileId = picture.fileId AND album.name LIKE ? ESCAPE '\\')
                    OR startedAt >= ? AND startedAt < ?)
                """
            arguments += [
                word.pattern, word.pattern, word.pattern, word.dates?.start.millisecondsSince1970,
                word.dates?.end.millisecondsSince1970,
            ]
        }
        return try await pictures(
            "\(Self.shown)\(conditions) \(Self.newestFirst) LIMIT ?", arguments: arguments + [limit])
    }

    /// A record with an invalid value is left out, as on other pages.
    private func pictures(_ sql: String, arguments: StatementArguments) async throws -> [TimelineImage] {
        try await read("The pictures") { db in
            let rows = try Row.fetchAll(db, sql: sql, arguments: arguments)
            let ids = rows.compactMap { String.fromDatabaseValue($0[5]) }
            let images = try StoredImage.all(ids, db)
            let looks = try PictureLook.all(ids, db)
            return rows.compactMap { row in
                guard let image = String.fromDatabaseValue(row[5]).flatMap({ images[$0] }),
                    let record = try? RecordTable.record(CheckedRow(row, of: "record"))
                else { return nil }
                return TimelineImage(
                    image: image, record: record, number: Int.fromDatabaseValue(row[6]) ?? 1,
                    look: looks["\(image.file.id)"])
            }
        }
    }
}

/// A picture in the timeline.
public struct TimelineImage: Hashable, Sendable {
    /// The file and its upload.
    public let image: StoredImage
    /// The record, without its tags and the names of its pictures.
    public let record: TimeRecord
    /// The place of the picture in its record, from 1.
    public let number: Int
    /// The look of the picture. Nil until its thumbnail was made on this device.
    public let look: PictureLook?
}

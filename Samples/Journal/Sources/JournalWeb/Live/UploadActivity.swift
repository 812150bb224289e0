import Foundation
import GRDB
import LFS

/// The counts of uploaded and waiting files for each minute of the last hour, which the chart shows.
///
/// The database is the source: a row has the time of its file, and the time of its last change in
/// ``FileData/updateID``. The last change of a file on the storage is its upload, or the arrival of its row from
/// another device.
struct UploadActivity: Sendable {
    struct Minute: Hashable, Sendable {
        /// The number of minutes since 1970.
        let number: Int
        /// The number of files that reached the storage in the minute.
        var uploaded = 0
        /// The number of files that were not on the storage at some time of the minute.
        var waiting = 0
    }

    /// The minutes of the last hour, the oldest first.
    private(set) var minutes: [Minute]

    static let count = 60
    /// The maximum number of rows that are read.
    private static let maxRows = 100_000

    init(until now: Date, _ db: Database) throws {
        let last = Self.number(now)
        minutes = (last - Self.count + 1...last).map { Minute(number: $0) }
        let start = Self.updateID(atMinute: last - Self.count + 1)
        let uploaded = FileData.all().offloaded().filter(FileData.Columns.updateID >= start).limit(Self.maxRows)
        try read(uploaded, isUploaded: true, db)
        let queued = FileData.joining(required: FileData.upload.queued()).limit(Self.maxRows)
        try read(queued, isUploaded: false, db)
    }

    private mutating func read(_ files: QueryInterfaceRequest<FileData>, isUploaded: Bool, _ db: Database) throws {
        let rows = try Row.fetchCursor(db, files.select(FileData.Columns.createdAt, FileData.Columns.updateID))
        while let row = try rows.next() {
            // Rows are untrusted input: a file without a time is left out.
            guard let made = Date.fromDatabaseValue(row[0]).map(Self.number) else { continue }
            let end = isUploaded ? String.fromDatabaseValue(row[1]).flatMap(Self.minute) : minutes.last?.number
            guard let end else { continue }
            for index in minutes.indices where minutes[index].number >= made && minutes[index].number <= end {
                minutes[index].waiting += 1
                if isUploaded, minutes[index].number == end { minutes[index].uploaded += 1 }
            }
        }
    }

    /// Returns the smallest UUID version 7 of a minute (RFC 9562, section 5.7).
    private static func updateID(atMinute number: Int) -> String {
        let digits = String(number * 60_000, radix: 16)
        let time = String(repeating: "0", count: max(0, 12 - digits.count)) + digits
        return "\(time.prefix(8))-\(time.dropFirst(8))"
    }

    /// Returns the minute of a UUID version 7. Nil for any other text.
    private static func minute(_ id: String) -> Int? {
        let digits = id.prefix(13).split(separator: "-").joined()
        guard digits.utf8.count == 12, let milliseconds = Int(digits, radix: 16) else { return nil }
        return milliseconds / 60_000
    }

    /// A row may have any time.
    private static func number(_ date: Date) -> Int { Int(min(max(date.timeIntervalSince1970, 0), 1e11) / 60) }
}

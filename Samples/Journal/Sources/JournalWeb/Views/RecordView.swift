import Foundation
import JournalStorage

/// The view of a tag.
struct TagView: Sendable {
    let id: String
    let name: String
    /// A `#` and six hexadecimal digits, whatever value is stored.
    let color: String
    let isChosen: Bool

    init(_ tag: Tag, isChosen: Bool = true) {
        id = tag.id.text
        name = tag.name
        color = tag.color.flatMap { Self.isColor($0) ? $0 : nil } ?? "#777777"
        self.isChosen = isChosen
    }

    private static func isColor(_ text: String) -> Bool {
        text.utf8.count == 7 && text.utf8.first == UInt8(ascii: "#")
            && text.utf8.dropFirst().allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
    }
}

/// A record as a line of a list, and as a page of its own.
struct RecordView: Sendable {
    let id: String
    let path: String
    let startClock: String
    let endClock: String
    let startText: String
    let endText: String
    /// The milliseconds since 1970, for the running clock.
    let startNumber: Int
    let duration: String
    let isRunning: Bool
    let comment: String
    /// The first line of the comment, for lists.
    let headline: String
    /// The time zone. Nil if its offset is equal to that of the page.
    let zone: String?
    let zoneName: String
    let tags: [TagView]
    let pictures: [PictureView]
    /// The number of pictures that a line does not show, in words. Nil if it shows all.
    let further: String?

    /// The maximum number of pictures in a line of a list.
    static let maxPictures = 8

    init(
        _ record: TimeRecord, tags: [Tag], images: [String: StoredImage], badges: BadgeMaker, pageZone: TimeZone,
        now: Date
    ) {
        let times = LocalTime(record.zone)
        id = record.id.text
        path = record.path
        startClock = times.clock(record.start)
        startText = times.text(record.start)
        endText = record.end.map(times.text) ?? ""
        let isSameDay = record.end.map { times.day($0) == times.day(record.start) } ?? true
        endClock = record.end.map { isSameDay ? times.clock($0) : "\(times.day($0)) \(times.clock($0))" } ?? ""
        startNumber = Int(record.start.timeIntervalSince1970 * 1_000)
        duration = Words.duration(record.duration(until: now))
        isRunning = record.isRunning
        comment = record.comment
        headline = Self.headline(record.comment)
        zoneName = record.timeZone
        self.zone =
            record.zone.secondsFromGMT(for: record.start) == pageZone.secondsFromGMT(for: record.start)
            ? nil : record.timeZone
        let known = Dictionary(tags.map { ($0.id, $0) }) { first, _ in first }
        self.tags = record.tags.compactMap { known[$0] }.map { TagView($0) }
        let day = times.day(record.start)
        pictures = record.images.compactMap { name in
            images[name].map { PictureView(name, of: record, image: $0, day: day, badges: badges) }
        }
        let left = record.images.count - pictures.count
        further = left > 0 ? "and \(Words.count(left, one: "picture", more: "pictures")) more" : nil
    }
}

extension RecordView {
    /// Returns the first line of a comment.
    static func headline(_ comment: String) -> String {
        let line = comment.split(separator: "\n").first.map(String.init) ?? ""
        return line.isEmpty ? "No comment" : line.count > 120 ? line.prefix(120) + "…" : line
    }
}

/// The records of one day.
struct DayView: Sendable {
    let name: String
    let total: String
    let records: [RecordView]
}

struct TodayView: Sendable {
    let day: DayView
    let running: [RecordView]
    /// The place in the timeline after the shown records. Nil if all records of the day are shown.
    let older: String?
    /// Indicates that the journal has no records at all.
    let isNew: Bool
    let welcome: WelcomeView
    /// The maximum size of a picture in bytes.
    let limit: Int64
    let tags: [TagView]
}

struct TimelineView: Sendable {
    let days: [DayView]
    /// The place after the last record. Nil on the last page.
    let older: String?
}

struct RecordPageView: Sendable {
    /// The picture whose deletion can be undone, on the page after it. Nil for none.
    let deleted: String?
    let record: RecordView
    let tags: [TagView]
    let maxSize: String
    let maxByteCount: Int64
    /// The hash that shows whether the comment was changed in the form.
    let commentMark: String
}

extension TimeRecord {
    /// The path of the record's page.
    var path: String { Self.path(of: id) }

    static func path(of id: UUID) -> String { "/records/\(id.text)" }
}

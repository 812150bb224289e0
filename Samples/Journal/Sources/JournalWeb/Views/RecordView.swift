import Foundation
import JournalStorage

/// A tag as it is shown.
struct TagView: Sendable {
    let id: String
    let name: String
    /// Six hexadecimal digits after a `#`, whatever was stored.
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

/// A record as a line of a list, and as the page of its own.
struct RecordView: Sendable {
    let id: String
    let path: String
    let startClock: String
    let endClock: String
    let startText: String
    let endText: String
    /// Milliseconds since 1970, for the running clock.
    let startNumber: Int
    let duration: String
    let isRunning: Bool
    let comment: String
    /// The first line, for lists.
    let headline: String
    /// Named only where it is not that of the page.
    let zone: String?
    let zoneName: String
    let tags: [TagView]
    let pictures: [PictureView]
    let hasPictures: Bool

    init(
        _ record: TimeRecord, tags: [Tag], images: [String: StoredImage], pageZone: TimeZone, now: Date
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
        let line = record.comment.split(separator: "\n").first.map(String.init) ?? ""
        headline = line.isEmpty ? "No comment" : line.count > 120 ? line.prefix(120) + "…" : line
        zoneName = record.timeZone
        self.zone =
            record.zone.secondsFromGMT(for: record.start) == pageZone.secondsFromGMT(for: record.start)
            ? nil : record.timeZone
        let known = Dictionary(tags.map { ($0.id, $0) }) { first, _ in first }
        self.tags = record.tags.compactMap { known[$0] }.map { TagView($0) }
        let day = times.day(record.start)
        pictures = record.images.compactMap { name in images[name].map { PictureView(name, of: record, $0, day: day) } }
        hasPictures = !pictures.isEmpty
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
    let isRunning: Bool
    let isEmpty: Bool
    let tags: [TagView]
}

struct TimelineView: Sendable {
    let days: [DayView]
    let older: String
    let hasOlder: Bool
    let isEmpty: Bool
}

struct RecordPageView: Sendable {
    let record: RecordView
    let tags: [TagView]
    let maxSize: String
    let maxByteCount: Int64
    /// What tells whether somebody has changed the comment in the form.
    let commentMark: String
}

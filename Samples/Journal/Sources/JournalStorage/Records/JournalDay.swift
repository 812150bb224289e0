public import Foundation

/// A calendar day: from midnight to midnight by the clocks of one time zone.
///
/// On the two days of the year when the clocks change, a day has 23 or 25 hours. If such a day has no midnight, it
/// begins with its first moment. The same instant may be on different days in different time zones. For a record that
/// was made elsewhere, ``init(of:)`` returns the day in the record's own time zone.
public struct JournalDay: Hashable, Sendable {
    /// The interval from the first moment of the day to that of the next day, which is excluded.
    public let interval: DateInterval
    /// The time zone of the day.
    public let timeZone: TimeZone

    /// Creates the day that contains an instant.
    public init(containing instant: Date, in timeZone: TimeZone) {
        let calendar = Self.calendar(in: timeZone)
        let start = calendar.startOfDay(for: instant)
        // Thirty hours later is the next day, even after a day of 25 hours.
        self.interval = DateInterval(start: start, end: calendar.startOfDay(for: start.addingTimeInterval(30 * 3_600)))
        self.timeZone = timeZone
    }

    /// Creates the day of a record's start in the record's time zone, or in GMT if that is unknown.
    public init(of record: TimeRecord) {
        self.init(containing: record.start, in: record.zone)
    }

    /// The following day.
    public var next: JournalDay { JournalDay(containing: interval.end, in: timeZone) }

    /// The preceding day.
    public var previous: JournalDay { JournalDay(containing: interval.start.addingTimeInterval(-1), in: timeZone) }

    package static func calendar(in timeZone: TimeZone) -> Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        return calendar
    }
}

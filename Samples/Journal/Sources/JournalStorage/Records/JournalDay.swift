public import Foundation

/// A day as people mean it: from midnight to midnight by the clocks of one time zone.
///
/// On the two days of the year when the clocks change it has 23 or 25 hours. Where there is no midnight on such a day
/// it begins with its first moment. The same instant may lie on different days in different zones; for a record that
/// was made elsewhere, ``init(of:)`` tells the day of its own zone.
public struct JournalDay: Hashable, Sendable {
    /// From its first moment to that of the next day, which is no part of it.
    public let interval: DateInterval
    /// Whose clocks tell it.
    public let timeZone: TimeZone

    /// The day that an instant lies on.
    public init(containing instant: Date, in timeZone: TimeZone) {
        let calendar = Self.calendar(timeZone)
        let start = calendar.startOfDay(for: instant)
        // Thirty hours on is the next day, also after one of 25.
        self.interval = DateInterval(start: start, end: calendar.startOfDay(for: start.addingTimeInterval(30 * 3_600)))
        self.timeZone = timeZone
    }

    /// The day that a record starts on, in the zone where it was made; in GMT when nobody knows that zone.
    public init(of record: TimeRecord) {
        self.init(containing: record.start, in: record.zone)
    }

    /// The day after.
    public var next: JournalDay { JournalDay(containing: interval.end, in: timeZone) }

    /// The day before.
    public var previous: JournalDay { JournalDay(containing: interval.start.addingTimeInterval(-1), in: timeZone) }

    private static func calendar(_ timeZone: TimeZone) -> Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        return calendar
    }
}

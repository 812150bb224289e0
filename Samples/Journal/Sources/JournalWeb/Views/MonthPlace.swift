import Foundation

/// A month of the calendar, as links name it.
struct MonthPlace: Hashable, Sendable {
    let year: Int
    let month: Int

    private static let names = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]

    init(_ date: Date, times: LocalTime) {
        let parts = times.calendar.dateComponents([.year, .month], from: date)
        year = parts.year ?? 1
        month = min(max(parts.month ?? 1, 1), 12)
    }

    /// Reads a text such as `2026-03`.
    init?(_ text: String) {
        guard let match = text.wholeMatch(of: /([0-9]{4})-([0-9]{2})/), let year = Int(match.1), year > 0,
            let month = Int(match.2), (1...12).contains(month)
        else { return nil }
        self.year = year
        self.month = month
    }

    /// The text, such as `2026-03`.
    var text: String { String(format: "%04ld-%02ld", year, month) }

    /// The name, such as `March 2026`.
    var name: String { "\(Self.names[month - 1]) \(year)" }

    func interval(in calendar: Calendar) -> DateInterval? {
        calendar.date(from: DateComponents(year: year, month: month, day: 1)).flatMap {
            calendar.dateInterval(of: .month, for: $0)
        }
    }
}

package import Foundation
import LFSSystem

/// The forms of dates in header fields: IMF-fixdate, and two obsolete forms that a recipient must accept (RFC 9110,
/// section 5.6.7).
package enum HTTPDate {
    /// Parses the value of a field. Returns nil if it has none of the three forms.
    ///
    /// - Parameter now: the current time, which decides the century of a two-digit year: at most 50 years in the
    ///   future.
    package static func parse(_ text: String, now: Date = Date()) -> Date? {
        var scanner = Scanner(text)
        guard let weekday = scanner.word() else { return nil }
        let time: UTCTime?
        if scanner.skip(", ") {
            time = days.contains(weekday) ? fixdate(&scanner) : rfc850(&scanner, weekday: weekday, now: now)
        } else {
            time = days.contains(weekday) && scanner.skip(" ") ? asctime(&scanner) : nil
        }
        guard let time, scanner.isAtEnd, let date = time.date,
            days.firstIndex(of: String(weekday.prefix(3))) == dayOfWeek(time)
        else { return nil }
        return date
    }

    /// Formats a date as IMF-fixdate, the form that senders must use.
    package static func text(_ date: Date) -> String {
        let time = UTCTime(date)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : String(number) }
        let clock = [time.hour, time.minute, time.second].map(two).joined(separator: ":")
        return "\(days[dayOfWeek(time) ?? 0]), \(two(time.day)) \(months[time.month - 1]) \(time.year) \(clock) GMT"
    }

    /// Parses IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func fixdate(_ scanner: inout Scanner) -> UTCTime? {
        guard let day = scanner.number(2), scanner.skip(" "), let month = scanner.month(), scanner.skip(" "),
            let year = scanner.number(4), scanner.skip(" "), let time = scanner.time(), scanner.skip(" GMT")
        else { return nil }
        return UTCTime(year: year, month: month, day: day, hour: time.0, minute: time.1, second: time.2)
    }

    /// Parses the RFC 850 form: `Sunday, 06-Nov-94 08:49:37 GMT`.
    private static func rfc850(_ scanner: inout Scanner, weekday: String, now: Date) -> UTCTime? {
        guard longDays.contains(weekday), let day = scanner.number(2), scanner.skip("-"), let month = scanner.month(),
            scanner.skip("-"), let shortYear = scanner.number(2), scanner.skip(" "), let time = scanner.time(),
            scanner.skip(" GMT")
        else { return nil }
        let thisYear = UTCTime(now).year
        var year = thisYear - thisYear % 100 + shortYear
        if year > thisYear + 50 { year -= 100 }
        return UTCTime(year: year, month: month, day: day, hour: time.0, minute: time.1, second: time.2)
    }

    /// Parses the `asctime` form: `Sun Nov 6 08:49:37 1994`.
    private static func asctime(_ scanner: inout Scanner) -> UTCTime? {
        guard let month = scanner.month(), scanner.skip(" "),
            let day = scanner.skip(" ") ? scanner.number(1) : scanner.number(2), scanner.skip(" "),
            let time = scanner.time(), scanner.skip(" "), let year = scanner.number(4)
        else { return nil }
        return UTCTime(year: year, month: month, day: day, hour: time.0, minute: time.1, second: time.2)
    }

    private static func dayOfWeek(_ time: UTCTime) -> Int? {
        // The leap second 23:59:60 becomes a time of the next day, but the weekday is that of its own day.
        var start = time
        start.second = 0
        return start.weekday
    }

    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let longDays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// A scanner that reads a text from left to right. It does not consume text that does not match.
    private struct Scanner {
        private var rest: Substring.UTF8View

        init(_ text: String) { rest = text[...].utf8 }

        var isAtEnd: Bool { rest.isEmpty }

        mutating func skip(_ text: String) -> Bool {
            guard rest.starts(with: text.utf8) else { return false }
            rest = rest.dropFirst(text.utf8.count)
            return true
        }

        mutating func word() -> String? {
            let letters = rest.prefix(while: \.isLetter)
            rest = rest.dropFirst(letters.count)
            return letters.isEmpty ? nil : String(Substring(letters))
        }

        mutating func month() -> Int? {
            word().flatMap { months.firstIndex(of: $0) }.map { $0 + 1 }
        }

        mutating func number(_ digits: Int) -> Int? {
            let text = rest.prefix(digits)
            guard text.count == digits, text.allSatisfy(\.isDigit) else { return nil }
            rest = rest.dropFirst(digits)
            return text.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        }

        mutating func time() -> (Int, Int, Int)? {
            guard let hour = number(2), skip(":"), let minute = number(2), skip(":"), let second = number(2) else {
                return nil
            }
            return (hour, minute, second)
        }
    }
}

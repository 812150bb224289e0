import ArgumentParser
import Foundation

/// A time on the command line: `2026-11-25`, `2026-11-25 18:40`, `2026-11-25T18:40:00Z`, `2026-11-25T18:40:00+01:00`.
/// Source: ISO 8601, the extended form.
enum PastTime {
    /// - Throws: `ValidationError` for anything else.
    @Sendable static func parse(_ text: String) throws -> Date {
        guard let time = time(text) else {
            throw ValidationError(
                """
                '\(Printable.text(text))' is not a time. Give --as-of a date such as 2026-11-25, or a date and time \
                such as 2026-11-25T18:40:00Z.
                """)
        }
        return time
    }

    private static func time(_ text: String) -> Date? {
        let form =
            /(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?/
        guard let match = text.wholeMatch(of: form.asciiOnlyDigits())?.output else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        if let offset = match.7 {
            guard let zone = zone(offset) else { return nil }
            calendar.timeZone = zone
        }
        func number(_ digits: Substring?) -> Int { digits.flatMap { Int($0) } ?? 0 }
        let parts = DateComponents(
            calendar: calendar, timeZone: calendar.timeZone, year: number(match.1), month: number(match.2),
            day: number(match.3), hour: number(match.4), minute: number(match.5), second: number(match.6))
        // Foundation would convert the 30th of February to a day in March.
        let day = DateComponents(year: parts.year, month: parts.month, day: parts.day)
        guard day.isValidDate(in: calendar), number(match.4) < 24, number(match.5) < 60, number(match.6) < 60 else {
            return nil
        }
        return calendar.date(from: parts)
    }

    private static func zone(_ offset: Substring) -> TimeZone? {
        if offset == "Z" { return .gmt }
        let digits = offset.dropFirst().filter(\.isNumber)
        guard let hours = Int(digits.prefix(2)), let minutes = Int(digits.suffix(2)), hours < 24, minutes < 60 else {
            return nil
        }
        return TimeZone(secondsFromGMT: (offset.hasPrefix("-") ? -1 : 1) * (hours * 60 + minutes) * 60)
    }
}

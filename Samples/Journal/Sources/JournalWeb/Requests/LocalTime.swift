import Foundation
import JournalStorage

/// The conversion between instants and local times in the format of `<input type="datetime-local">`.
struct LocalTime: Sendable {
    let calendar: Calendar

    init(_ timeZone: TimeZone) { calendar = JournalDay.calendar(in: timeZone) }

    /// Returns a text such as `2026-03-29T01:30:00`.
    func text(_ date: Date) -> String { "\(day(date))T\(seconds(date))" }

    /// Returns a text such as `2026-03-29`.
    func day(_ date: Date) -> String {
        let parts = calendar.dateComponents([.year, .month, .day], from: date)
        return String(format: "%04ld-%02ld-%02ld", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0)
    }

    /// Returns a text such as `01:30`.
    func clock(_ date: Date) -> String { String(seconds(date).prefix(5)) }

    /// Returns a text such as `01:30:05`.
    func seconds(_ date: Date) -> String {
        let parts = calendar.dateComponents([.hour, .minute, .second], from: date)
        return String(format: "%02ld:%02ld:%02ld", parts.hour ?? 0, parts.minute ?? 0, parts.second ?? 0)
    }

    /// Returns the instant of a text. Nil if the text is invalid. A local time that a change of the clocks skips is
    /// read as the time after it.
    func date(_ text: String) -> Date? {
        let pattern = /([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})T([0-9]{1,2}):([0-9]{1,2})(:[0-9]{1,2})?(\..*)?/
        guard let found = text.wholeMatch(of: pattern)?.output, let year = Int(found.1), year > 0,
            let month = Int(found.2), (1...12).contains(month), let day = Int(found.3), (1...31).contains(day),
            let hour = Int(found.4), hour < 24, let minute = Int(found.5), minute < 60,
            let second = Int(found.6?.dropFirst() ?? "0"), second < 60
        else { return nil }
        let parts = DateComponents(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        return calendar.date(from: parts)
    }
}

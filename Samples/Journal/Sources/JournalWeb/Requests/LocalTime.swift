import Foundation

/// The conversion between instants and local times in the format of `<input type="datetime-local">`.
struct LocalTime: Sendable {
    let calendar: Calendar

    init(_ timeZone: TimeZone) {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        self.calendar = calendar
    }

    /// Returns a text such as `2026-03-29T01:30:00`.
    func text(_ date: Date) -> String {
        let parts = parts(date)
        return "\(day(parts))T\(Self.padded(parts.hour)):\(Self.padded(parts.minute)):\(Self.padded(parts.second))"
    }

    /// Returns a text such as `2026-03-29`.
    func day(_ date: Date) -> String { day(parts(date)) }

    /// Returns a text such as `01:30`.
    func clock(_ date: Date) -> String {
        let parts = parts(date)
        return "\(Self.padded(parts.hour)):\(Self.padded(parts.minute))"
    }

    /// Returns a text such as `01:30:05`.
    func seconds(_ date: Date) -> String { "\(clock(date)):\(Self.padded(parts(date).second))" }

    /// Returns the instant of a text. Nil if the text is invalid. A local time that a change of the clocks skips is
    /// read as the time after it.
    func date(_ text: String) -> Date? {
        let halves = text.split(separator: "T", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        let days = halves[0].split(separator: "-", omittingEmptySubsequences: false).map { UInt16($0) }
        let clock = halves[1].prefix { $0 != "." }
        let times = clock.split(separator: ":", omittingEmptySubsequences: false).map { UInt16($0) }
        guard days.count == 3, (2...3).contains(times.count), let year = days[0], (1...9999).contains(year),
            let month = days[1], (1...12).contains(month), let day = days[2], (1...31).contains(day),
            let hour = times[0], hour < 24, let minute = times[1], minute < 60,
            let second = times.count > 2 ? times[2] : 0, second < 60
        else { return nil }
        let parts = DateComponents(
            year: Int(year), month: Int(month), day: Int(day), hour: Int(hour), minute: Int(minute), second: Int(second)
        )
        return calendar.date(from: parts)
    }

    private func parts(_ date: Date) -> DateComponents {
        calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
    }

    private func day(_ parts: DateComponents) -> String {
        "\(Self.padded(parts.year, width: 4))-\(Self.padded(parts.month))-\(Self.padded(parts.day))"
    }

    private static func padded(_ number: Int?, width: Int = 2) -> String {
        let digits = String(number ?? 0)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

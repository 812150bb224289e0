package import Foundation
import LFSSystem

/// A time in UTC in the proleptic Gregorian calendar, with a precision of one second.
///
/// The day arithmetic, based on 1970-01-01, follows Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms".
package struct UTCTime: Hashable, Sendable {
    package var year: Int
    package var month: Int
    package var day: Int
    package var hour: Int
    package var minute: Int
    package var second: Int

    package init(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
    }

    /// The seconds since 1970 of the years 0 to 9999, the range of the HTTP and XML formats.
    private static let seconds = -62_167_219_200...253_402_300_799

    /// Creates the time of a date, rounded down to the second. A date outside the years 0 to 9999 is clamped.
    package init(_ date: Date) {
        let rounded = Int(saturating: date.timeIntervalSince1970.rounded(.down))
        let seconds = min(max(rounded, Self.seconds.lowerBound), Self.seconds.upperBound)
        let days = Self.floorDivision(seconds, divisor: 86_400)
        let secondOfDay = seconds - days * 86_400
        // The calculation starts years in March, so that the leap day is the last day of a year.
        let shifted = days + 719_468
        let era = Self.floorDivision(shifted, divisor: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        hour = secondOfDay / 3_600
        minute = secondOfDay / 60 % 60
        second = secondOfDay % 60
    }

    /// The date, or nil for a day or a time that does not exist. A leap second becomes the first second of the next
    /// minute.
    package var date: Date? {
        guard (0...9_999).contains(year), (1...12).contains(month), (0...23).contains(hour), (0...59).contains(minute),
            (0...60).contains(second), day >= 1
        else { return nil }
        let marchYear = month <= 2 ? year - 1 : year
        let era = Self.floorDivision(marchYear, divisor: 400)
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        let seconds = days * 86_400 + hour * 3_600 + minute * 60
        let date = Date(timeIntervalSince1970: Double(seconds))
        // The 31st of a month with 30 days would silently become another day.
        let again = UTCTime(date)
        guard again.month == month, again.day == day else { return nil }
        return date.addingTimeInterval(Double(second))
    }

    /// The weekday, where 0 is Sunday.
    package var weekday: Int? {
        date.map { (Self.floorDivision(Int($0.timeIntervalSince1970), divisor: 86_400) % 7 + 11) % 7 }
    }

    private static func floorDivision(_ number: Int, divisor: Int) -> Int {
        number >= 0 ? number / divisor : -((divisor - 1 - number) / divisor)
    }
}

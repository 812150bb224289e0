import Foundation

/// An instant as text: `2026-03-29T01:30:00.000Z` (ISO 8601, always UTC, always with milliseconds).
struct Timestamp: Codable, Hashable, Sendable {
    let date: Date

    init(_ date: Date) { self.date = date }

    /// The range that can be stored: the years 1 to 9999.
    static let storable = -62_135_596_800_000...253_402_300_799_999

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        let text = try value.decode(String.self)
        guard let date = Self.date(text), Self.storable.contains(date.millisecondsSince1970) else {
            throw DecodingError.dataCorruptedError(
                in: value, debugDescription: "'\(text)' is not a time. Write it as 2026-03-29T01:30:00.000Z.")
        }
        self.date = date
    }

    func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        guard let text else {
            let context = EncodingError.Context(
                codingPath: encoder.codingPath, debugDescription: "A time has to be in the years 1 to 9999.")
            throw EncodingError.invalidValue(date, context)
        }
        try value.encode(text)
    }

    /// The instant as text. Nil if it cannot be stored.
    var text: String? {
        guard let instant = date.storableMilliseconds else { return nil }
        let (day, time) = instant.quotientAndRemainder(floorDividingBy: 86_400_000)
        let date = CivilDate(daysSince1970: day)
        let parts = [
            date.year.padded(4), "-", date.month.padded(2), "-", date.day.padded(2), "T",
            (time / 3_600_000).padded(2), ":", (time / 60_000 % 60).padded(2), ":", (time / 1_000 % 60).padded(2), ".",
            (time % 1_000).padded(3), "Z",
        ]
        return parts.joined()
    }

    /// Reads this format, and variants with another offset, without a fraction, or with a longer fraction.
    private static func date(_ text: String) -> Date? {
        var digits = Digits(rest: text.utf8[...])
        guard let year = digits.number(4), digits.take("-"), let month = digits.number(2), digits.take("-"),
            let day = digits.number(2), digits.take("T"), let hour = digits.number(2), digits.take(":"),
            let minute = digits.number(2), digits.take(":"), let second = digits.number(2),
            let fraction = digits.fraction(), let east = digits.offset(), digits.rest.isEmpty,
            hour < 24, minute < 60, second < 60, let date = CivilDate(year, month: month, day: day)
        else { return nil }
        let seconds = date.daysSince1970 * 86_400 + hour * 3_600 + minute * 60 + second - east
        return Date(millisecondsSince1970: seconds * 1_000 + Int((fraction * 1_000).rounded()))
    }
}

/// A parser that reads a time from left to right.
private struct Digits {
    var rest: Substring.UTF8View

    mutating func take(_ sign: Unicode.Scalar) -> Bool {
        guard let first = rest.first, UInt32(first) == sign.value else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func digit() -> Int? {
        guard let first = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return nil }
        rest.removeFirst()
        return Int(first - UInt8(ascii: "0"))
    }

    mutating func number(_ count: Int) -> Int? {
        var number = 0
        for _ in 0..<count {
            guard let digit = digit() else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    /// Reads the fraction of a second. Returns 0 without a fraction.
    mutating func fraction() -> Double? {
        guard take(".") else { return 0 }
        guard let first = digit() else { return nil }
        var (value, unit) = (Double(first) / 10, 0.01)
        while let digit = digit() {
            value += Double(digit) * unit
            unit /= 10
        }
        return value
    }

    /// Reads the offset in seconds, positive to the east.
    mutating func offset() -> Int? {
        if take("Z") { return 0 }
        let sign = take("+") ? 1 : take("-") ? -1 : 0
        guard sign != 0, let hours = number(2), take(":"), let minutes = number(2), hours < 24, minutes < 60 else {
            return nil
        }
        return sign * (hours * 60 + minutes) * 60
    }
}

/// A day of the Gregorian calendar in UTC, which is assumed to have been in use since the year 1. (Foundation's
/// calendar is the Julian one before 1582.)
///
/// Algorithms: Howard Hinnant, `civil_from_days` and `days_from_civil`,
/// https://howardhinnant.github.io/date_algorithms.html
struct CivilDate: Hashable, Sendable {
    let year: Int
    let month: Int
    let day: Int

    init(daysSince1970 days: Int) {
        let (era, dayOfEra) = (days + 719_468).quotientAndRemainder(floorDividingBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shifted + 2) / 5 + 1
        month = shifted < 10 ? shifted + 3 : shifted - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// - Returns: The date, or nil if the day does not exist.
    init?(_ year: Int, month: Int, day: Int) {
        guard (1...12).contains(month), (1...31).contains(day) else { return nil }
        self.year = year
        self.month = month
        self.day = day
        guard CivilDate(daysSince1970: daysSince1970) == self else { return nil }
    }

    var daysSince1970: Int {
        let (era, yearOfEra) = (month <= 2 ? year - 1 : year).quotientAndRemainder(floorDividingBy: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

extension Date {
    /// The instant in the precision that can be stored.
    var wholeMilliseconds: Date {
        guard let milliseconds = storableMilliseconds else { return self }
        return Date(millisecondsSince1970: milliseconds)
    }

    init(millisecondsSince1970 milliseconds: Int) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1_000)
    }

    /// The milliseconds since 1970. Nil if the time is not finite or is not in the years 1 to 9999.
    var storableMilliseconds: Int? {
        let value = (timeIntervalSince1970 * 1_000).rounded()
        guard value >= Double(Timestamp.storable.lowerBound), value <= Double(Timestamp.storable.upperBound) else {
            return nil
        }
        return Int(value)
    }

    /// The milliseconds since 1970. A time outside the storable range becomes the value just outside the range, because
    /// the end of a range may be any time.
    var millisecondsSince1970: Int {
        if let storableMilliseconds { return storableMilliseconds }
        return timeIntervalSince1970 > 0 ? Timestamp.storable.upperBound + 1 : Timestamp.storable.lowerBound - 1
    }
}

extension Int {
    fileprivate func padded(_ width: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
    }

    /// Divides and returns a remainder that is never negative.
    func quotientAndRemainder(floorDividingBy divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

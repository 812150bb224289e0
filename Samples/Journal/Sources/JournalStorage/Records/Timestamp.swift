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
        return String(
            format: "%04ld-%02ld-%02ldT%02ld:%02ld:%02ld.%03ldZ", date.year, date.month, date.day, time / 3_600_000,
            time / 60_000 % 60, time / 1_000 % 60, time % 1_000)
    }

    /// Reads this format, and variants with another offset, without a fraction, or with a longer fraction.
    private static func date(_ text: String) -> Date? {
        let bytes = Array(text.utf8)
        let shape = String(decoding: bytes.map { (0x30...0x39).contains($0) ? 0x30 : $0 }, as: UTF8.self)
        let zone = shape.dropFirst(19).drop { $0 == "." || $0 == "0" }
        guard shape.hasPrefix("0000-00-00T00:00:00"), ["Z", "+00:00", "-00:00"].contains(zone) else { return nil }
        func number(_ range: Range<Int>) -> Int? { Int(String(decoding: bytes[range], as: UTF8.self)) }
        let end = bytes.count - zone.utf8.count
        let fraction = String(decoding: bytes[19..<end], as: UTF8.self)
        guard fraction.isEmpty || fraction.hasPrefix(".") && fraction.count > 1, let part = Double("0" + fraction),
            let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
            let hours = zone == "Z" ? 0 : number(end + 1..<end + 3),
            let minutes = zone == "Z" ? 0 : number(end + 4..<end + 6), hour < 24, minute < 60, second < 60,
            hours < 24, minutes < 60, let date = CivilDate(year, month: month, day: day)
        else { return nil }
        let east = (hours * 60 + minutes) * (zone.hasPrefix("-") ? -60 : 60)
        let seconds = date.daysSince1970 * 86_400 + hour * 3_600 + minute * 60 + second - east
        return Date(millisecondsSince1970: seconds * 1_000 + Int((part * 1_000).rounded()))
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
    /// Divides and returns a remainder that is never negative.
    func quotientAndRemainder(floorDividingBy divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

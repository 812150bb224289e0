public import Foundation

/// A month with pictures.
public struct PictureMonth: Hashable, Sendable {
    /// The first instant of the month.
    public let start: Date
    /// The first instant of the next month.
    public let end: Date
    /// The number of pictures.
    public let count: Int
}

/// The words of a search for pictures. A picture matches if each word is in the text or a tag of its record or in the
/// name of an album, or is the date of its record: `2026`, `2026-03` or `2026-03-29`.
public struct PictureSearch: Hashable, Sendable {
    struct Word: Hashable, Sendable {
        /// The pattern for `LIKE`, in which a backslash escapes.
        let pattern: String
        let dates: DateInterval?
    }

    let words: [Word]

    /// The maximum number of words. Others are ignored.
    private static let maxWords = 8

    /// Reads the words of a text.
    ///
    /// - Parameters:
    ///   - text: The words, separated by white space.
    ///   - timeZone: The time zone of dates.
    public init(_ text: String, in timeZone: TimeZone) {
        words = text.split(whereSeparator: \.isWhitespace).prefix(Self.maxWords).map { word in
            let escaped = word.replacing("\\", with: "\\\\").replacing("%", with: "\\%").replacing("_", with: "\\_")
            return Word(pattern: "%\(escaped)%", dates: Self.dates(word, in: timeZone))
        }
    }

    private static func dates(_ word: Substring, in timeZone: TimeZone) -> DateInterval? {
        let parts = word.split(separator: "-", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { UInt16($0) }
        guard numbers.count == parts.count, (1...3).contains(numbers.count), parts[0].utf8.count == 4 else {
            return nil
        }
        let calendar = JournalDay.calendar(in: timeZone)
        var components = DateComponents(year: Int(numbers[0]), month: 1, day: 1)
        if numbers.count > 1 { components.month = Int(numbers[1]) }
        if numbers.count > 2 { components.day = Int(numbers[2]) }
        guard components.isValidDate(in: calendar), let date = calendar.date(from: components) else { return nil }
        let units: [Calendar.Component] = [.year, .month, .day]
        return calendar.dateInterval(of: units[numbers.count - 1], for: date)
    }
}

import Foundation

/// The time in the name of a copy: in UTC, to the millisecond. Names by earlier versions end with the second.
struct CopyTime: Hashable, Comparable, Sendable {
    private let milliseconds: Int64
    private let hasMilliseconds: Bool

    /// - Parameter last: the latest time of an existing copy. The new time is later, even if a clock was set back.
    init(_ date: Date, after last: CopyTime?) {
        let now = Int64((date.timeIntervalSince1970 * 1_000).rounded(.down))
        milliseconds = max(now, last.map { $0.milliseconds + 1 } ?? now)
        hasMilliseconds = true
    }

    /// Parses a name such as `20261125t143000.123z` or `20261125t143000z`. Nil for any other text.
    init?(name: Substring) {
        let parts = name.dropLast().split(separator: ".", omittingEmptySubsequences: false)
        guard name.hasSuffix("z"), parts.count <= 2,
            let date = try? Date("\(parts[0])Z".uppercased(), strategy: Self.format), date < Self.end
        else { return nil }
        var fraction: Int64 = 0
        if parts.count == 2 {
            guard parts[1].utf8.count == 3, let number = UInt16(parts[1]) else { return nil }
            fraction = Int64(number)
        }
        hasMilliseconds = parts.count == 2
        milliseconds = Int64(date.timeIntervalSince1970) * 1_000 + fraction
        guard self.name == name else { return nil }
    }

    var name: String { "\(second.formatted(Self.format).lowercased().dropLast())\(fraction)z" }
    /// The time for people.
    var text: String { "\(second.formatted(.iso8601).dropLast())\(fraction)Z" }
    var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1_000) }

    /// Returns true if a text is this time, to the millisecond or to the second.
    func fits(_ text: String) -> Bool { text == self.text || text == second.formatted(.iso8601) }

    static func < (one: CopyTime, other: CopyTime) -> Bool { one.milliseconds < other.milliseconds }

    private var second: Date { Date(timeIntervalSince1970: (Double(milliseconds) / 1_000).rounded(.down)) }
    private var fraction: String {
        guard hasMilliseconds else { return "" }
        return "." + String(1_000 + milliseconds % 1_000).dropFirst()
    }

    /// The beginning of the year 9999. The time after a later one could have a year of five digits, which no name has.
    private static let end = Date(timeIntervalSince1970: 253_370_764_800)

    private static var format: Date.ISO8601FormatStyle {
        .iso8601.year().month().day().dateSeparator(.omitted).time(includingFractionalSeconds: false)
            .timeSeparator(.omitted).timeZone(separator: .omitted)
    }
}

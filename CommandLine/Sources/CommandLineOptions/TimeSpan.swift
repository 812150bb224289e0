public import ArgumentParser

/// A duration on the command line: `90s`, `1h30m`, `2w`, `1.5h`, `1y`. The units are `ms`, `s`, `m`, `h`, `d`, `w` and
/// `y` (365 days), the largest first. `0` needs no unit. `never` has no end.
public struct TimeSpan: ExpressibleByArgument, Hashable, Sendable, CustomStringConvertible {
    /// The duration, from 0 to 100 years. Nil for `never`.
    public let duration: Duration?
    /// The text from which the duration was parsed.
    public let description: String

    private static let units: [(name: Substring, milliseconds: Double)] = [
        ("y", 31_536_000_000), ("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000),
        ("ms", 1),
    ]

    /// The duration in whole units of one name. The number must not be negative.
    private init(_ number: Int, unit: Substring, milliseconds: Int) {
        duration = .milliseconds(number * milliseconds)
        description = "\(number)\(unit)"
    }

    public static func seconds(_ number: Int) -> TimeSpan { TimeSpan(number, unit: "s", milliseconds: 1_000) }

    public static func minutes(_ number: Int) -> TimeSpan { TimeSpan(number, unit: "m", milliseconds: 60_000) }

    public static func days(_ number: Int) -> TimeSpan { TimeSpan(number, unit: "d", milliseconds: 86_400_000) }

    /// Parses a duration. Nil for anything else, and for more than 100 years.
    public init?(argument: String) {
        description = argument
        switch argument {
        case "never": duration = nil
        case "0": duration = .zero
        default:
            guard let milliseconds = Self.milliseconds(argument[...]) else { return nil }
            duration = .milliseconds(milliseconds)
        }
    }

    private static func milliseconds(_ text: Substring) -> Int64? {
        var rest = text
        var units = units[...]
        var sum = 0.0
        repeat {
            let digits = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
            rest.removeFirst(digits.count)
            let name = rest.prefix { $0.isASCII && $0.isLetter }
            rest.removeFirst(name.count)
            guard let number = Double(digits), let index = units.firstIndex(where: { $0.name == name }) else {
                return nil
            }
            sum += number * units[index].milliseconds
            units = units[(index + 1)...]
        } while !rest.isEmpty
        return sum <= 100 * 31_536_000_000 ? Int64(sum.rounded()) : nil
    }

    /// Parses a duration for an option.
    ///
    /// - Throws: `ValidationError`, with a suggestion for a number without a unit.
    @Sendable public static func parse(_ text: String) throws -> TimeSpan {
        if let time = TimeSpan(argument: text) { return time }
        if Double(text).map({ $0 > 0 && $0.isFinite }) == true {
            throw ValidationError("'\(text)' has no unit. Write \(text)s, \(text)m, \(text)h or \(text)d.")
        }
        throw ValidationError("'\(text)' is not a time. Write for example 90s, 1h30m, 2w or 1y.")
    }

    /// Parses a duration with an end for an option.
    ///
    /// - Throws: `ValidationError`, also for `never`.
    @Sendable public static func parseFinite(_ text: String) throws -> TimeSpan {
        let time = try parse(text)
        if time.duration == nil {
            throw ValidationError("'\(text)' is not a time. Write for example 90s, 1h30m or 2w.")
        }
        return time
    }

    /// The duration in seconds. Infinite for `never`.
    public var seconds: Double { duration.map { $0 / .seconds(1) } ?? .infinity }
}

import ArgumentParser
import CommandLineOptions

/// The amount of data that one verification reads back: `10%`, `1/10`, or a size such as `2GiB`.
package struct ReadShare: Equatable, Sendable {
    package enum Amount: Equatable, Sendable {
        /// A fraction of all bytes. 1 for all bytes.
        case part(Double)
        /// A maximum number of bytes. At least one object is read in any case.
        case bytes(Int64)
    }

    package let amount: Amount

    static let help = ArgumentHelp(
        """
        Like --read-data, but only for a part: 10%, 1/10, or at most a size such as 20GiB. The objects that were read \
        longest ago are read first. --read-data=10% is the same.
        """, valueName: "share", visibility: .detail)

    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    package init(parsing text: String) throws {
        guard let amount = Self.percent(text) ?? Self.fraction(text) ?? Self.size(text) else {
            throw ValidationError(
                "'\(text)' is not a share of the objects. Write it as 10%, as 1/10, or as a size such as 20GiB.")
        }
        self.amount = amount
    }

    private static func percent(_ text: String) -> Amount? {
        guard text.hasSuffix("%"), let number = Double(text.dropLast()), number > 0, number <= 100 else { return nil }
        return .part(number / 100)
    }

    /// Parses a fraction. Users of other tools write 1/7 to 7/7, one for each day. The number of the part is ignored,
    /// because the database records which objects were read.
    private static func fraction(_ text: String) -> Amount? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let part = parts[0], let count = parts[1], part >= 1, part <= count else { return nil }
        return .part(1 / Double(count))
    }

    /// Parses a size, which must have a unit. A plain number could mean bytes, objects or per cent.
    private static func size(_ text: String) -> Amount? {
        guard text.last?.isLetter == true else { return nil }
        return ByteSize(argument: text).flatMap { $0.bytes > 0 ? .bytes($0.bytes) : nil }
    }

    /// Rewrites `--read-data=SHARE` in the command line for the parser, which does not support options with optional
    /// values.
    package static func spellingOut(_ arguments: [String]) -> [String] {
        let options = arguments.prefix { $0 != "--" }
        return options.map { word in
            word.hasPrefix("--read-data=") ? "--read-share=" + word.dropFirst("--read-data=".count) : word
        } + arguments.dropFirst(options.count)
    }

    /// Returns a message with the option's name as in the command line, which ``spellingOut(_:)`` has replaced.
    package static func spellingBack(_ message: String, arguments: [String]) -> String {
        let options = arguments.prefix { $0 != "--" }
        guard options.contains(where: { $0.hasPrefix("--read-data=") }),
            !options.contains(where: { $0.hasPrefix("--read-share") })
        else { return message }
        return message.replacing("'--read-share", with: "'--read-data")
    }
}

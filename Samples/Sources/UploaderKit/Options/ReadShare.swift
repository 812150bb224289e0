import ArgumentParser

/// How much of the objects one verification reads back: `10%`, `1/10`, or a size such as `2GiB`.
package struct ReadShare: Equatable, Sendable {
    package enum Amount: Equatable, Sendable {
        /// A part of all bytes; 1 for all of them.
        case part(Double)
        /// So many bytes at the most, and one object in any case.
        case bytes(Int64)
    }

    package let amount: Amount

    static let help = ArgumentHelp(
        """
        As --read-data, but only a part of them, those first that were read longest ago: 10%, 1/10, or at most a size \
        such as 20GiB. --read-data=10% is the same.
        """, valueName: "share")

    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    package init(parsing text: String) throws {
        guard let amount = Self.percent(text) ?? Self.fraction(text) ?? Self.size(text) else {
            throw ValidationError(
                "'\(text)' is no part of the objects. Write it as 10%, as 1/10, or as a size such as 20GiB.")
        }
        self.amount = amount
    }

    private static func percent(_ text: String) -> Amount? {
        guard text.hasSuffix("%"), let number = Double(text.dropLast()), number > 0, number <= 100 else { return nil }
        return .part(number / 100)
    }

    /// Users of other tools write 1/7 to 7/7, one on each day. Which seventh it is stands in the notes here.
    private static func fraction(_ text: String) -> Amount? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let part = parts[0], let count = parts[1], part >= 1, part <= count else { return nil }
        return .part(1 / Double(count))
    }

    /// With a unit: a number alone would be bytes to one person, and objects or per cent to another.
    private static func size(_ text: String) -> Amount? {
        guard text.last?.isLetter == true else { return nil }
        return ByteSize(argument: text).flatMap { $0.bytes > 0 ? .bytes($0.bytes) : nil }
    }

    /// The command line with `--read-data=SHARE` as the parser takes it, which knows no option whose value may be left
    /// out.
    package static func spellingOut(_ arguments: [String]) -> [String] {
        let options = arguments.prefix { $0 != "--" }
        return options.map { word in
            word.hasPrefix("--read-data=") ? "--read-share=" + word.dropFirst("--read-data=".count) : word
        } + arguments.dropFirst(options.count)
    }
}

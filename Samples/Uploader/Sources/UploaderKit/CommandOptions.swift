import ArgumentParser

/// The options of one command, for a check of a command line before the parser runs. If an option is mistyped, the
/// parser would first report missing arguments or invalid values.
struct CommandOptions {
    private let name: String
    /// True for each option name that takes a value.
    private let takesValue: [String: Bool]

    /// Reads the options from the command's help. Nil if the help has an unexpected format.
    ///
    /// - Parameter name: the command as it is written, including its parent commands.
    init?(_ command: any ParsableCommand.Type, name: String) {
        self.name = name
        var found: [String: Bool] = [:]
        let help = Uploader.helpMessage(for: command, includeHidden: true, columns: 10_000)
        for line in help.split(separator: "\n") where line.hasPrefix("  -") {
            // The names are separated from their help by at least two spaces.
            let names = line.dropFirst(2).split(separator: "  ", maxSplits: 1)[0]
            let takesValue = names.contains("<")
            for word in names.split(whereSeparator: { ", /".contains($0) }) where word.hasPrefix("-") {
                found[String(word)] = takesValue
            }
        }
        guard found["--help"] != nil else { return nil }
        // The parser knows this option too, and no help lists it.
        found["--help-hidden"] = false
        takesValue = found
    }

    /// Returns a message about the first unknown option, or about a share that follows `--read-data` without `=`.
    ///
    /// - Returns: nil if there is no such mistake, or if the parser has to report an earlier word.
    func complaint(_ arguments: [String]) -> String? {
        var rest = arguments.prefix { $0 != "--" }
        while let word = rest.popFirst() {
            guard word.hasPrefix("-"), word.count > 1 else { continue }
            // The parser, and the advice on file names, handle such words.
            if CommandNames.isNoOption(word) { return nil }
            guard word.hasPrefix("--") || word == "-P" else { continue }
            let option = String(word.prefix { $0 != "=" })
            guard let takesValue = takesValue[option] else {
                let advice = CommandNames.advice(option, names: Array(self.takesValue.keys).sorted())
                return "There is no option '\(option)'.\(advice) 'uploader \(name) --help-hidden' lists all."
            }
            if takesValue, !word.contains("="), rest.first?.hasPrefix("-") == false { rest.removeFirst() }
            if option == "--read-data", let share = rest.first, !share.hasPrefix("-") {
                return "Write --read-data=\(share), with = before the share."
            }
        }
        return nil
    }
}

import ArgumentParser

/// The options of one command, held against a command line before the parser does: of a mistyped one it says first what
/// else is missing, or what is wrong with its value.
struct CommandOptions {
    private let name: String
    /// Whether a value follows, by the names.
    private let takesValue: [String: Bool]

    /// Nil where the help is not as it is expected.
    ///
    /// - Parameter name: the command as it is written, with those that it is one of.
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
        takesValue = found
    }

    /// What is wrong with the first option that there is not; nil when there is none.
    func complaint(_ arguments: [String]) -> String? {
        var rest = arguments.prefix { $0 != "--" }
        while let word = rest.popFirst() {
            guard word.hasPrefix("-"), word.count > 1 else { continue }
            // What the parser and the advice on file names are about.
            if CommandNames.isNoOption(word) { return nil }
            guard word.hasPrefix("--") else { continue }
            let option = String(word.prefix { $0 != "=" })
            guard let takesValue = takesValue[option] else {
                let advice = CommandNames.advice(option, Array(self.takesValue.keys).sorted())
                return "There is no option '\(option)'.\(advice) 'uploader \(name) --help' lists them."
            }
            if takesValue, !word.contains("="), rest.first?.hasPrefix("-") == false { rest.removeFirst() }
            if option == "--read-data", let share = rest.first, !share.hasPrefix("-") {
                return "Write --read-data=\(share), with = before the share."
            }
        }
        return nil
    }
}

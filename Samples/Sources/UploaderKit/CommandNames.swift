import ArgumentParser

/// Looks at the command's name before the parser does, which takes a mistyped one for an argument.
package enum CommandNames {
    /// What is wrong with the names in a command line; nil when nothing is.
    package static func complaint(_ arguments: [String]) -> String? {
        let command = command(arguments)
        if let complaint = command.flatMap({ CommandOptions($0, name: $1)?.complaint(arguments) }) { return complaint }
        // The parser would take -dash.jpg for -d -a -s -h, and show the help.
        if let odd = arguments.prefix(while: { $0 != "--" }).first(where: isNoOption) {
            return "There is no option '\(odd)'. For a file of this name write ./\(odd), or -- before it."
        }
        guard let first = arguments.first, !first.hasPrefix("-") else { return nil }
        let name = first == "help" ? arguments.dropFirst().first : first
        guard let name, !name.hasPrefix("-"), !all.contains(name) else { return nil }
        return "There is no command '\(name)'.\(advice(name, all)) 'uploader --help' lists them."
    }

    /// The command that a line names, which may be one of another's; nil when it names none.
    private static func command(_ arguments: [String]) -> (any ParsableCommand.Type, name: String)? {
        var command: (any ParsableCommand.Type)?
        var choice = Uploader.configuration.subcommands
        var words: [String] = []
        for word in arguments {
            guard let next = choice.first(where: { $0.configuration.commandName == word }) else { break }
            (command, choice) = (next, next.configuration.subcommands)
            words.append(word)
        }
        guard choice.isEmpty, let command else { return nil }
        return (command, words.joined(separator: " "))
    }

    /// ` Did you mean …?` with the nearest of some names; empty where none is near.
    static func advice(_ name: String, _ names: [String]) -> String {
        let near = names.map { (name: $0, distance: distance(name, $0)) }.min { $0.distance < $1.distance }
        return near.flatMap { $0.distance <= 2 ? " Did you mean '\($0.name)'?" : nil } ?? ""
    }

    static func isNoOption(_ word: String) -> Bool {
        word.count > 2 && word.hasPrefix("-") && !word.hasPrefix("--")
            && !word.dropFirst().allSatisfy("hlnqrv".contains)
    }

    private static let all = Uploader.configuration.subcommands.compactMap { $0.configuration.commandName }

    /// How many characters have to be put in, left out or changed. Source: Levenshtein, 1965.
    private static func distance(_ left: String, _ right: String) -> Int {
        var row = Array(0...right.count)
        for (index, a) in left.prefix(64).enumerated() {
            var next = [index + 1]
            for (position, b) in right.enumerated() {
                next.append(min(row[position] + (a == b ? 0 : 1), row[position + 1] + 1, next[position] + 1))
            }
            row = next
        }
        return row.last ?? 0
    }
}

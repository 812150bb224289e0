import ArgumentParser
import CommandLineOptions

/// A check of the command's name before the parser runs. The parser would take a mistyped name for an argument.
package enum CommandNames {
    /// Returns a message about a wrong name in a command line, or nil if all names are valid.
    package static func complaint(_ arguments: [String]) -> String? {
        let command = command(arguments)
        if let complaint = command.flatMap({ CommandOptions($0, name: $1)?.complaint(arguments) }) { return complaint }
        // The parser would read -dash.jpg as -d -a -s -h, and show the help.
        if let odd = arguments.prefix(while: { $0 != "--" }).first(where: isNoOption) {
            return "There is no option '\(odd)'. For a file of this name write ./\(odd), or -- before it."
        }
        guard let first = arguments.first, !first.hasPrefix("-") else { return nil }
        let name = first == "help" ? arguments.dropFirst().first : first
        guard let name, !name.hasPrefix("-"), !all.contains(name) else { return nil }
        return "There is no command '\(name)'.\(advice(name, names: all)) 'uploader --help' lists them."
    }

    /// Returns the command or subcommand that a line names, or nil if it names none.
    private static func command(_ arguments: [String]) -> (any ParsableCommand.Type, name: String)? {
        var command: (any ParsableCommand.Type)?
        var choice = Uploader.configuration.subcommands
        var words: [String] = []
        for word in arguments {
            guard let next = choice.first(where: { $0.configuration.commandName == word }) else { break }
            command = next
            choice = next.configuration.subcommands
            words.append(word)
        }
        guard choice.isEmpty, let command else { return nil }
        return (command, words.joined(separator: " "))
    }

    /// The names in rclone, restic and the shell, with those of this program.
    private static let others = [
        "restore": "pull", "download": "pull", "get": "pull", "cat": "pull", "upload": "push", "copy": "push",
        "rm": "remove", "delete": "remove", "forget": "remove", "ls": "list", "check": "verify", "evict": "free",
        "--transfers": "--max-executors", "--stats": "--progress-interval", "--bwlimit": "--limit-rate",
        "-P": "--progress", "--repo": "--to",
    ]

    /// Returns ` Did you mean …?` with the most similar name, or an empty text if no name is similar.
    static func advice(_ name: String, names: [String]) -> String {
        if let own = others[name], names.contains(own) { return " Did you mean '\(own)'?" }
        return SimilarName.find(name, names: names).map { " Did you mean '\($0)'?" } ?? ""
    }

    static func isNoOption(_ word: String) -> Bool {
        word.count > 2 && word.hasPrefix("-") && !word.hasPrefix("--")
            && !word.dropFirst().allSatisfy("hlnqrv".contains)
    }

    private static let all = Uploader.configuration.subcommands.compactMap { $0.configuration.commandName }
}

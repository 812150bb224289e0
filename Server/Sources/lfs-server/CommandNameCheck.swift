import ArgumentParser
import CommandLineOptions

/// A check of the command's name before the parser runs. The parser would take a mistyped name for an argument.
enum CommandNameCheck {
    /// Returns a message about a wrong name in a command line, or nil if all names are valid.
    static func complaint(_ arguments: [String]) -> String? {
        var words = arguments[...]
        if words.first == "help" { words.removeFirst() }
        var command: any ParsableCommand.Type = LFSServerCommand.self
        var path = "lfs-server"
        while let word = words.popFirst(), !word.hasPrefix("-") {
            let choice = command.configuration.subcommands
            if choice.isEmpty { return nil }
            let names = choice.map { $0._commandName }
            guard let index = names.firstIndex(of: word) else {
                let advice = SimilarName.find(word, names: names).map { " Did you mean '\($0)'?" } ?? ""
                return "There is no command '\(word)'.\(advice) '\(path) --help' lists them."
            }
            command = choice[index]
            path += " \(word)"
        }
        return nil
    }

    /// Replaces `help options` by `options`. The parser's help would add the common options.
    static func spellingOut(_ arguments: [String]) -> [String] {
        arguments == ["help", "options"] ? ["options"] : arguments
    }
}

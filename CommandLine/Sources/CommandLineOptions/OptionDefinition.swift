import ArgumentParser
import Foundation

/// An option of a command, as the parser describes it.
struct OptionDefinition: Decodable {
    struct Name: Decodable {
        let kind: String
        let name: String
    }

    let kind: String
    let isRepeating: Bool
    let names: [Name]?
    /// True for a flag that also has a form with `--no-`.
    var isNegatable = false

    private enum CodingKeys: CodingKey { case kind, isRepeating, names }

    /// The name without dashes. Nil for an argument, and for an option with a short name only.
    var name: String? {
        kind == "positional" ? nil : names?.first { $0.kind == "long" }?.name
    }

    var isFlag: Bool { kind == "flag" }

    /// Returns true if words of a command line contain the option, in one of its forms.
    func isGiven(in words: some Sequence<String>) -> Bool {
        words.contains { word in
            (names ?? []).contains { name in
                if name.kind == "long" {
                    return word == "--\(name.name)" || word.hasPrefix("--\(name.name)=")
                        || isNegatable && word == "--no-\(name.name)"
                }
                // Short flags can be combined, as in -qv.
                return word.hasPrefix("-") && !word.hasPrefix("--") && word.dropFirst().contains(name.name)
            }
        }
    }
}

/// A command with its options and subcommands, as the parser describes it.
struct CommandDefinition: Decodable {
    let commandName: String
    let subcommands: [CommandDefinition]?
    let arguments: [OptionDefinition]?

    /// Reads the definition of a program from its parser.
    init(of program: any ParsableCommand.Type) throws {
        struct Tool: Decodable { let command: CommandDefinition }
        self = try JSONDecoder().decode(Tool.self, from: Data(program._dumpHelp().utf8)).command
    }

    /// The options by their names. A flag with a form with `--no-` is one option.
    var options: [String: OptionDefinition] {
        let named = (arguments ?? []).compactMap { option in option.name.map { ($0, option) } }
        var options = Dictionary(named.filter { !["help", "version"].contains($0.0) }) { first, _ in first }
        for name in options.keys where options.removeValue(forKey: "no-\(name)") != nil {
            options[name]?.isNegatable = true
        }
        return options
    }

    /// The options of the command and all its subcommands.
    var allOptions: [String: OptionDefinition] {
        (subcommands ?? []).reduce(into: options) { all, command in
            all.merge(command.allOptions) { first, _ in first }
        }
    }

    /// Returns the command that the first words of a command line name, with the number of these words. Nil if they
    /// name no command with options.
    func command(_ words: [String]) -> (command: CommandDefinition, wordCount: Int)? {
        guard let subcommands, !subcommands.isEmpty else { return (self, 0) }
        guard let first = words.first, let next = subcommands.first(where: { $0.commandName == first }) else {
            return nil
        }
        return next.command(Array(words.dropFirst())).map { ($0.command, $0.wordCount + 1) }
    }
}

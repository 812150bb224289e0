import ArgumentParser
import LFSServer

/// Gives users tokens and takes them away.
struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Gives users tokens and takes them away. A running server learns it by itself.",
        subcommands: [Add.self, List.self, Revoke.self])

    struct File: ParsableArguments {
        @Option(help: "The file of tokens. It holds no token, only the SHA-256 of each.")
        var tokens: String
    }

    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Makes a token for a user, and the file when it is new. The token is the last line that it prints.")

        @OptionGroup var file: File
        @Argument(help: "The user. What somebody stores belongs to this name.")
        var name: String

        func run() throws {
            var tokens = try TokenFile(path: file.tokens, mayBeMissing: true)
            let isKnown = tokens.entries.contains { $0.name == name }
            let token = try tokens.add(name)
            Console.print(isKnown ? "\(name) has one more token:" : "\(name) has a token, which is shown only now:")
            Console.print(token)
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows who has tokens, and the first digits of their hashes.")

        @OptionGroup var file: File

        func run() throws {
            for entry in try TokenFile(path: file.tokens).entries {
                Console.print("\(entry.sha256.prefix(12))  \(entry.name)")
            }
        }
    }

    struct Revoke: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Removes all tokens of a user. What the user has stored stays.")

        @OptionGroup var file: File
        @Argument(help: "The user.")
        var name: String

        func run() throws {
            var tokens = try TokenFile(path: file.tokens)
            let count = try tokens.revoke(name)
            guard count > 0 else { throw ValidationError("Nobody of that name has a token.") }
            Console.print(count == 1 ? "1 token is no longer valid." : "\(count) tokens are no longer valid.")
        }
    }
}

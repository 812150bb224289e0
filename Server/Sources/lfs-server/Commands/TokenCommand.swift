import ArgumentParser
import LFSServer

/// A command that creates and revokes tokens of accounts.
struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Manages the tokens of accounts. A running server reads changes automatically.",
        subcommands: [Add.self, List.self, Revoke.self])

    struct File: ParsableArguments {
        @Option(help: "The token file. It contains only the SHA-256 of each token.")
        var tokens: String
    }

    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Creates a token for an account, and the file if it is missing. Prints only the token, once.")

        @OptionGroup var file: File
        @Option(help: "The name of the account. The objects that its devices store belong to this name.")
        var account: String

        func run() throws {
            var tokens = try TokenFile(path: file.tokens, mayBeMissing: true)
            Console.print(try tokens.add(account))
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists tokens: the first digits of the hash, and the name of the account.")

        @OptionGroup var file: File
        @Flag(help: "Print one JSON object per token.")
        var json = false

        private struct Line: Encodable {
            let schema = 1
            let event = "token"
            let account: String
            /// The first 12 of 64 hex digits.
            let sha256: String
        }

        func run() throws {
            for entry in try TokenFile(path: file.tokens).entries {
                let digits = String(entry.sha256.prefix(12))
                if json {
                    try Console.print(json: Line(account: entry.name, sha256: digits))
                } else {
                    Console.print("\(digits)  \(entry.name)")
                }
            }
        }
    }

    struct Revoke: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Removes all tokens of an account. Its objects stay.")

        @OptionGroup var file: File
        @Option(help: "The name of the account.")
        var account: String

        func run() throws {
            var tokens = try TokenFile(path: file.tokens)
            let count = try tokens.revoke(account)
            guard count > 0 else { throw CommandFailure("There is no token for this account. See 'token list'.") }
            Console.print(count == 1 ? "1 token is no longer valid." : "\(count) tokens are no longer valid.")
        }
    }
}

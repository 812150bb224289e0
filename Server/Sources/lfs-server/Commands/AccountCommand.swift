import ArgumentParser
import CommandLineOptions
import Foundation
import LFSSyncServer

/// A command that manages accounts and their limits.
struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account", abstract: "Manages the accounts of sync, their usage and their limits.",
        subcommands: [List.self, Quota.self, Recount.self, Remove.self])

    static let unknown = CommandFailure(
        "There is no account with this name. 'lfs-server account list' lists the names.")

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists accounts with their usage.",
            discussion: """
                A line has the name, the number of rows, their bytes, the bytes of files, the number of sessions, and \
                the day of the last request of a session.
                """)

        @OptionGroup var sync: SyncStoreOptions
        @Option(help: "The account. Without it the list has all accounts.")
        var account: String?
        @Flag(help: "Print one JSON object per account.")
        var json = false

        /// An account as a JSON object.
        struct Line: Encodable {
            let schema = 1
            let event = "account"
            let id: String
            let account: String
            let rows: Int64
            let rowBytes: Int64
            let fileBytes: Int64
            let sessions: Int
            /// The day of the last request in UTC, or nil without sessions.
            let lastRequest: String?
            /// The limits that the account has instead of those of the server.
            let limits: [String: Int64]

            init(_ account: SyncAccountInfo) {
                id = account.id
                self.account = account.name
                rows = account.usage.rows
                rowBytes = account.usage.rowBytes
                fileBytes = account.usage.fileBytes
                sessions = account.sessionCount
                lastRequest = account.lastContactAt.map(List.day)
                limits = Dictionary(uniqueKeysWithValues: account.limits.map { ($0.key.rawValue, $0.value) })
            }
        }

        private static func day(_ date: Date) -> String { date.formatted(.iso8601.year().month().day()) }

        private static let header = ["account", "rows", "row bytes", "file bytes", "sessions", "last request"]

        private static func cells(_ account: SyncAccountInfo) -> [String] {
            let usage = account.usage
            let numbers = [usage.rows, usage.rowBytes, usage.fileBytes, Int64(account.sessionCount)].map(String.init)
            return [account.name] + numbers + [account.lastContactAt.map(day) ?? "-"]
        }

        func run() async throws {
            let accounts = try await sync.withService { try await $0.accounts(named: account) }
            if json {
                for account in accounts { try Console.print(json: Line(account)) }
            } else {
                for line in Console.lines(of: accounts.map(Self.cells), header: Self.header) { Console.print(line) }
            }
        }
    }

    struct Quota: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sets limits of an account, and prints its limits. 'default' is that of the server.",
            discussion: """
                A limit applies from the next push on. Changes above it wait on the devices. The limits of the server \
                are 5000000 rows, 1GiB of rows, 1TiB of files and 50 sessions unless 'serve' has other values.

                EXAMPLES
                  Let an account have 10 GiB of files:
                    lfs-server account quota --database sync.sqlite --account alice \\
                      --file-bytes 10GiB
                """)

        @OptionGroup var sync: SyncStoreOptions
        @Option(help: "The account.")
        var account: String
        @Option(help: ArgumentHelp("The maximum number of rows.", valueName: "count|default"), transform: Value.parse)
        var rows: Value?
        @Option(
            help: ArgumentHelp("The maximum bytes of rows, without files.", valueName: "size|default"),
            transform: Value.parse)
        var bytes: Value?
        @Option(
            help: ArgumentHelp("The maximum bytes of files on the storage.", valueName: "size|default"),
            transform: Value.parse)
        var fileBytes: Value?
        @Option(
            help: ArgumentHelp("The maximum number of sessions.", valueName: "count|default"), transform: Value.parse)
        var sessions: Value?

        /// A limit as a number or size, or the word `default`.
        struct Value: Sendable {
            let number: Int64?

            /// Parses a limit for an option.
            ///
            /// - Throws: `ValidationError` for anything else, and for a limit that no account can have.
            @Sendable static func parse(_ text: String) throws -> Value {
                if text == "default" { return Value(number: nil) }
                guard let number = Int64(text) ?? ByteSize(argument: text)?.bytes,
                    (0...AccountLimit.largestValue).contains(number)
                else {
                    throw ValidationError("'\(text)' is not a limit. Write a number, a size such as 1GiB, or default.")
                }
                return Value(number: number)
            }
        }

        func run() async throws {
            let given: [(AccountLimit, Value?)] = [
                (.rows, rows), (.rowBytes, bytes), (.fileBytes, fileBytes), (.sessions, sessions),
            ]
            let found = try await sync.withService { service -> SyncAccountInfo? in
                for (limit, value) in given {
                    guard let value else { continue }
                    guard try await service.setLimit(limit, to: value.number, account: account) else { return nil }
                }
                return try await service.accounts(named: account).first
            }
            guard let found else { throw AccountCommand.unknown }
            for limit in AccountLimit.allCases {
                Console.print("\(limit.rawValue): \(found.limits[limit].map(String.init) ?? "default")")
            }
        }
    }

    struct Recount: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Counts the rows and bytes of accounts again.",
            discussion: "This is only necessary after someone has changed rows with disabled triggers.")

        @OptionGroup var sync: SyncStoreOptions
        @Option(help: "The account. Without it all accounts are counted.")
        var account: String?

        func run() async throws {
            let count = try await sync.withService { try await $0.recount(account: account) }
            Console.print(count == 1 ? "1 account had a wrong count." : "\(count) accounts had a wrong count.")
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Removes an account with its rows and sessions.",
            discussion: """
                Its devices can no longer sync. Its part in shared containers is deleted, and its objects stay in the \
                storage. Never give its name to another person, who would see the objects.
                """)

        @OptionGroup var sync: SyncStoreOptions
        @Option(help: "The account.")
        var account: String

        func run() async throws {
            guard try await sync.withService({ try await $0.removeAccount(named: account) }) else {
                throw AccountCommand.unknown
            }
            Console.print("The account was removed.")
        }
    }
}

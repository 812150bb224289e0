import ArgumentParser
import CommandLineOptions
import Foundation
import LFSSyncServer

/// A command that manages the sessions of devices.
struct SessionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session", abstract: "Manages the sessions of devices, whose tokens allow them to sync.",
        subcommands: [Add.self, List.self, Revoke.self])

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Creates a session for a device. Prints only its token, once.",
            discussion: "Creates the database and the account if they are missing.")

        @OptionGroup var sync: SyncStoreOptions
        @OptionGroup var limit: SessionLimitOption
        @Option(help: "The account. All its devices have the same rows.")
        var account: String
        @Option(help: "The name of the device in 'session list'.")
        var device = ""
        @Option(
            help: ArgumentHelp(
                "The lifetime, such as 90d. The default is until 'session revoke'.", valueName: "time"),
            transform: TimeSpan.parseFinite)
        var lifetime: TimeSpan?

        func validate() throws {
            guard (1...128).contains(account.utf8.count), account.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
                throw ValidationError("--account has to be a name of 1 to 128 bytes without spaces.")
            }
            guard lifetime.map({ $0.seconds >= 60 }) ?? true else {
                throw ValidationError("--lifetime has to be at least 1m.")
            }
        }

        func run() async throws {
            let lifetime = lifetime?.duration
            var options = SyncServiceOptions()
            options.sessionLimit = limit.sessionLimit
            let token = try await sync.withService(options: options) {
                try await $0.addSession(account: account, device: device, lifetime: lifetime)
            }
            Console.print(token)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists sessions: id, account, day of the last request, and name of the device.")

        @OptionGroup var sync: SyncStoreOptions
        @Option(help: "The account. Without it the list has all accounts.")
        var account: String?
        @Flag(help: "Print one JSON object per session.")
        var json = false

        private struct Line: Encodable {
            let schema = 1
            let event = "session"
            let id: String
            let account: String
            let device: String
            /// The day of the last request, in UTC.
            let lastRequest: String
        }

        func run() async throws {
            for session in try await sync.withService({ try await $0.sessions(account: account) }) {
                let seen = session.seenAt.formatted(.iso8601.year().month().day())
                if json {
                    try Console.print(
                        json: Line(
                            id: session.id, account: session.account, device: session.device, lastRequest: seen))
                } else {
                    Console.print("\(session.id)  \(session.account)  \(seen)  \(session.device)")
                }
            }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Ends a session permanently. An open stream of the session ends at its next page.")

        @OptionGroup var sync: SyncStoreOptions
        @Argument(help: "The id of the session, from 'session list'.")
        var id: String

        func run() async throws {
            guard try await sync.withService({ try await $0.removeSession(id) }) else {
                throw ValidationError("There is no session with this id. 'lfs-server session list' lists the ids.")
            }
            Console.print("The session has ended.")
        }
    }
}

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
            abstract: "Lists sessions: id, account, day of the last request, and name of the device.",
            discussion: """
                An indented line for each type of rows has the time of the last contact: when the device last \
                acknowledged new rows of the type, or started over. A '-' is a contact that an earlier version of \
                the server has not recorded.
                """)

        @OptionGroup var sync: SyncStoreOptions
        @Option(help: "The account. Without it the list has all accounts.")
        var account: String?
        @Flag(help: "Print one JSON object per session.")
        var json = false

        /// A session as a JSON object.
        struct Line: Encodable {
            let schema = 1
            let event = "session"
            let id: String
            let account: String
            let device: String
            /// The day of the last request, in UTC.
            let lastRequest: String
            let types: [TypeLine]

            init(_ session: SyncSessionInfo) {
                id = session.id
                account = session.account
                device = session.device
                lastRequest = List.day(session.seenAt)
                types = session.contacts.map {
                    TypeLine(
                        type: $0.type, firstContact: $0.firstAt?.formatted(.iso8601),
                        lastContact: $0.lastAt?.formatted(.iso8601))
                }
            }
        }

        struct TypeLine: Encodable {
            let type: String
            /// The times of the first and last contact, in UTC. Nil if they are not recorded.
            let firstContact: String?
            let lastContact: String?
        }

        private static func day(_ date: Date) -> String { date.formatted(.iso8601.year().month().day()) }

        /// Returns the lines about a session for a person.
        static func lines(_ session: SyncSessionInfo) -> [String] {
            ["\(session.id)  \(session.account)  \(day(session.seenAt))  \(session.device)"]
                + session.contacts.map { "    \($0.type)  \($0.lastAt?.formatted(.iso8601) ?? "-")" }
        }

        func run() async throws {
            for session in try await sync.withService({ try await $0.sessions(account: account) }) {
                if json {
                    try Console.print(json: Line(session))
                } else {
                    for line in Self.lines(session) { Console.print(line) }
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

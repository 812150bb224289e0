import ArgumentParser
import CommandLineOptions
import Foundation
import LFSSyncServer

/// A command that manages the sessions of devices.
struct SessionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session", abstract: "Manages the sessions of devices, whose tokens allow them to sync.",
        subcommands: [Add.self, List.self, Reset.self, Revoke.self])

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Creates a session for a device. Prints only its token, once.",
            discussion: "Creates the database and the account if they are missing.")

        @OptionGroup var sync: SyncStoreOptions
        @OptionGroup var newSessions: NewSessionOptions
        @Option(help: "The account. All its devices have the same rows.")
        var account: String
        @Option(help: "The name of the device in 'session list'.")
        var device = ""
        @Option(
            help: ArgumentHelp(
                "The maximum lifetime, such as 1y, however often the session is used.", valueName: "time"),
            transform: TimeSpan.parseFinite)
        var lifetime: TimeSpan?
        @Flag(help: "The session may read rows and objects, but change neither.")
        var readOnly = false
        @Option(help: ArgumentHelp("The only tables that the session may use: recipe,step.", valueName: "tables"))
        var types: String?

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
            newSessions.apply(to: &options)
            var rights = SyncSessionRights()
            rights.isReadOnly = readOnly
            rights.types = types.map { Set($0.split(separator: ",").map(String.init)) }
            let token = try await sync.withService(mayCreate: true, options: options) { [rights] in
                try await $0.addSession(account: account, device: device, lifetime: lifetime, rights: rights)
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
            /// The time at which the session expires unless it is used, or nil if it does not.
            let expires: String?
            let isReadOnly: Bool
            /// The types that the session may use, or nil for all.
            let onlyTypes: [String]?
            let types: [TypeLine]

            init(_ session: SyncSessionInfo) {
                id = session.id
                account = session.account
                device = session.device
                lastRequest = List.day(session.seenAt)
                expires = session.expiresAt?.formatted(.iso8601)
                isReadOnly = session.rights.isReadOnly
                onlyTypes = session.rights.types?.sorted()
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

        private static let header = ["id", "account", "last request", "device"]

        /// Returns the lines for a person. Each session is followed by its types.
        static func lines(_ sessions: [SyncSessionInfo], forPerson: Bool = Console.isTerminal) -> [String] {
            let rows = sessions.map { [$0.id, $0.account, day($0.seenAt), $0.device] }
            let lines = Console.lines(of: rows, header: header, forPerson: forPerson)
            let types = sessions.map { session in
                session.contacts.map { "    \($0.type)  \($0.lastAt?.formatted(.iso8601) ?? "-")" }
            }
            let headers = lines.dropLast(sessions.count)
            return headers + zip(lines.suffix(sessions.count), types).flatMap { [$0] + $1 }
        }

        func run() async throws {
            let sessions = try await sync.withService { try await $0.sessions(account: account) }
            if json {
                for session in sessions { try Console.print(json: Line(session)) }
            } else {
                for line in Self.lines(sessions) { Console.print(line) }
            }
        }
    }

    private static let unknown = CommandFailure(
        "There is no session with this id. 'lfs-server session list' lists the ids.")

    struct Reset: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a device start over. It receives all rows again, and keeps its own changes.")

        @OptionGroup var sync: SyncStoreOptions
        @Argument(help: "The id of the session, from 'session list'.")
        var id: String

        func run() async throws {
            guard try await sync.withService({ try await $0.resetSession(id) }) else { throw SessionCommand.unknown }
            Console.print("The device starts over at its next sync.")
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Ends a session, or all sessions of an account. Their open streams end at the next page.",
            discussion: """
                EXAMPLES
                  End the session of a lost phone:
                    lfs-server session list --database sync.sqlite --account alice
                    lfs-server session revoke --database sync.sqlite ID
                """)

        @OptionGroup var sync: SyncStoreOptions
        @Argument(help: "The id of the session, from 'session list'.")
        var id: String?
        @Option(help: "The account whose sessions end.")
        var account: String?

        func validate() throws {
            guard (id == nil) != (account == nil) else {
                throw ValidationError("Give either the id of a session or --account.")
            }
        }

        func run() async throws {
            if let account {
                let count = try await sync.withService { try await $0.removeSessions(account: account) }
                guard count > 0 else { throw CommandFailure("The account has no sessions. See 'session list'.") }
                Console.print(count == 1 ? "1 session has ended." : "\(count) sessions have ended.")
            } else if let id {
                guard try await sync.withService({ try await $0.removeSession(id) }) else {
                    throw SessionCommand.unknown
                }
                Console.print("The session has ended.")
            }
        }
    }
}

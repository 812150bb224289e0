import ArgumentParser
import Foundation
import LFSSyncServer

/// Gives devices sessions.
struct SessionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session", abstract: "Gives devices the tokens with which they sync.",
        subcommands: [Add.self, List.self, Revoke.self])

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a session for a device. Its token is the last line that it prints.",
            discussion: "The database and the account are made where they are missing.")

        @OptionGroup var sync: SyncStoreOptions
        @OptionGroup var limit: SessionLimitOption
        @Option(help: "The account. Its devices have the same rows.")
        var account: String
        @Option(help: "What the session is called in lists.")
        var device = ""
        @Option(help: ArgumentHelp("How long it lasts; until it is revoked by default.", valueName: "days"))
        var expires: Int?

        func validate() throws {
            guard (1...128).contains(account.utf8.count), account.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
                throw ValidationError("--account has to be a name of 1 to 128 bytes without blanks.")
            }
            guard expires.map({ (1...36_500).contains($0) }) ?? true else {
                throw ValidationError("--expires has to be 1 day or more.")
            }
        }

        func run() async throws {
            let lifetime = expires.map { Duration.seconds($0 * 86_400) }
            var options = SyncServiceOptions()
            options.sessionLimit = limit.sessionLimit
            let token = try await sync.withService(options: options) {
                try await $0.addSession(account: account, device: device, lifetime: lifetime)
            }
            Console.print("A device of \(account) has a session. Its token is shown only now:")
            Console.print(token)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists sessions: id, account, when a device was there last, and what it is called.")

        @OptionGroup var sync: SyncStoreOptions
        @Option(help: "The account; all by default.")
        var account: String?

        func run() async throws {
            for session in try await sync.withService({ try await $0.sessions(account: account) }) {
                let seen = session.seenAt.formatted(.iso8601.year().month().day())
                Console.print("\(session.id)  \(session.account)  \(seen)  \(session.device)")
            }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Ends a session for ever. A stream of it ends at its next page.")

        @OptionGroup var sync: SyncStoreOptions
        @Argument(help: "The session's id, from 'session list'.")
        var id: String

        func run() async throws {
            guard try await sync.withService({ try await $0.removeSession(id) }) else {
                throw ValidationError("There is no session with that id: 'lfs-server session list' has them.")
            }
            Console.print("The session has ended.")
        }
    }
}

import ArgumentParser
import LFSSyncServer

/// Gives devices sessions.
struct SessionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session", abstract: "Gives devices the tokens with which they sync.", subcommands: [Add.self])

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a session for a device. Its token is the last line that it prints.",
            discussion: "The database and the account are made where they are missing.")

        @OptionGroup var sync: SyncStoreOptions
        @Option(help: "The account. Its devices have the same rows.")
        var account: String
        @Option(help: "What the session is called in lists.")
        var device = ""

        func validate() throws {
            guard (1...128).contains(account.utf8.count), account.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
                throw ValidationError("--account has to be a name of 1 to 128 bytes without blanks.")
            }
        }

        func run() async throws {
            let database = try sync.open()
            let service = try await SyncService(database, schema: try sync.schema())
            let token = try await service.addSession(account: account, device: device)
            await database.close()
            Console.print("A device of \(account) has a session. Its token is shown only now:")
            Console.print(token)
        }
    }
}

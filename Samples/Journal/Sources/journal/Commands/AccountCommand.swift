import ArgumentParser
import Foundation
import JournalStorage
import JournalWeb

/// The command for the account of a journal on a sync server, and for the removal of its data from this device.
struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account", abstract: "Logs a journal in and out, and removes it from this device.",
        subcommands: [LoginCommand.self, LogoutCommand.self, ResetCommand.self])
}

/// The command that stores the account of a journal.
struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Stores the sync server and the token of this device.",
        discussion: """
            Reads the token, which 'lfs-server session add' prints, from the standard
            input. 'journal serve' without --sync then uses the account. The token is a
            secret, like those of 'journal secrets'.
            """)

    @OptionGroup var journal: SecretsCommand.Options

    @Option(help: ArgumentHelp("The sync server: https://HOST.", valueName: "url"))
    var server: String

    @Option(
        help: ArgumentHelp(
            "The address for requests, if it is not that of the server, such as one in the local network.",
            valueName: "url"))
    var endpoint: String?

    func validate() throws {
        for text in [server, endpoint].compactMap(\.self) { _ = try SyncArguments.url(text) }
    }

    func run() async throws {
        let server = try SyncArguments.url(server)
        let endpoint = try endpoint.map(SyncArguments.url)
        let settings = try await journal.open()
        guard let token = readLine(), !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw ValidationError("The first line of the standard input has to be the token of this device.")
        }
        try await SecretsCommand.explaining {
            try await AccountSettings.logIn(server: server, endpoint: endpoint, token: token, settings)
        }
        Console.print("The account is stored. 'journal serve' uses it.")
    }
}

/// The command that removes the account of a journal and its data from this device.
struct LogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "Removes the account and the data of a journal from this device.",
        discussion: """
            Records, pictures, caches and secrets are removed. Settings of the view and of
            space stay. Pictures on the storage and records on the sync server stay there.
            Stop 'journal serve' first.
            """)

    @OptionGroup var removal: RemovalOptions

    func run() async throws { try await removal.perform(.account) }
}

/// The command that removes everything of a journal from this device.
struct ResetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset", abstract: "Removes all data and all settings of a journal from this device.",
        discussion: """
            The same as 'logout', and all settings are removed too. Pictures on the storage and
            records on the sync server stay there. Stop 'journal serve' first.
            """)

    @OptionGroup var removal: RemovalOptions

    func run() async throws { try await removal.perform(.everything) }
}

/// The options of the commands that remove a journal from this device.
struct RemovalOptions: ParsableArguments {
    @OptionGroup var journal: SecretsCommand.Options

    @Flag(help: "Do not ask.")
    var yes = false

    @Flag(help: "Also remove pictures that are not on the storage. They are lost for good.")
    var losePictures = false

    func perform(_ removal: JournalRemoval) async throws {
        try journal.requireThere()
        let pool = try await DatabaseStorageService.openDatabase(at: URL(filePath: journal.database))
        let settings = try await JournalSettings.open(pool, secrets: journal.secrets.folder())
        try await SecretsCommand.explaining {
            try await removal.perform(pool, settings: settings, confirming: confirm)
        }
        Console.print(removal == .account ? "Logged out." : "Everything is removed.")
    }

    /// - Throws: `ValidationError` if the answer is no, or without a terminal to ask on.
    private func confirm(_ lost: Int) throws {
        if lost > 0, !losePictures {
            throw ValidationError(
                """
                \(lost) pictures are not on the storage and would be lost. Start 'journal serve' until they are \
                uploaded, or add --lose-pictures.
                """)
        }
        if yes { return }
        guard isatty(STDIN_FILENO) == 1 else {
            throw ValidationError("The command asks first, and there is no terminal. Add --yes.")
        }
        let loss = lost > 0 ? " \(lost) pictures are lost for good." : ""
        Console.error("Remove the journal \(journal.database) and its pictures from this device?\(loss) Type yes:")
        guard readLine()?.lowercased() == "yes" else { throw ValidationError("Nothing was removed.") }
    }
}

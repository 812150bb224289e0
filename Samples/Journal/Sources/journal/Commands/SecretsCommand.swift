import ArgumentParser
import Foundation
import JournalStorage
import JournalWeb
import LFSSettings

/// The command for the secrets of a journal: the credentials of its bucket, and the key that signs its cookies.
struct SecretsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secrets", abstract: "Manages the journal's secrets, such as the bucket's credentials.",
        discussion: """
            An encrypted file in the folder of --secrets stores them. No command shows
            them. Only this user can read the folder. Keep it away from the database and
            its backups. The default is 'journal' in $XDG_STATE_HOME, or
            ~/.local/state/journal.
            """,
        subcommands: [Show.self, SetStorage.self, RemoveStorage.self, Adopt.self], defaultSubcommand: Show.self)

    /// Adds the remedy to the error for secrets that have been replaced.
    static func explaining<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as SettingsError where error.code == .keychainReplaced {
            throw WebError(
                .unusableFile,
                message: """
                    The secrets of this journal are not in their folder. Restore it, or name it with \
                    --secrets. If they are lost, create new ones with: \
                    journal secrets adopt --database FILE. (\(error.message))
                    """)
        }
    }

    /// The options that select a journal and its secrets.
    struct Options: ParsableArguments {
        @Option(help: ArgumentHelp("The SQLite database of the journal.", valueName: "file"))
        var database: String

        @OptionGroup var secrets: SecretsOptions

        /// - Throws: `ValidationError` without a database.
        func requireThere() throws {
            guard FileManager.default.fileExists(atPath: database) else {
                throw ValidationError("There is no database \(database).")
            }
        }

        func open() async throws -> StorageRouter {
            try requireThere()
            let pool = try await DatabaseStorageService.openDatabase(at: URL(filePath: database))
            return try await JournalSettings.open(pool, secrets: secrets.folder())
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Shows which secrets are stored, not their values.")
        @OptionGroup var options: Options

        func run() async throws {
            let settings = try await options.open()
            let isKept = try await SecretsCommand.explaining { try await settings.exists(.storageCredentials) }
            Console.print("Credentials of the bucket: \(isKept ? "stored" : "none")")
        }
    }

    struct SetStorage: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Stores the credentials of the bucket.",
            discussion: """
                Reads one value per line from the standard input: the access key id, the secret
                access key and, for temporary credentials, the session token. Credentials in
                the environment take precedence.
                """)
        @OptionGroup var options: Options

        func run() async throws {
            let settings = try await options.open()
            let (id, secret, token) = (readLine() ?? "", readLine() ?? "", readLine() ?? "")
            guard
                let credentials = StorageCredentials(
                    accessKeyID: id, secretAccessKey: secret, sessionToken: token.isEmpty ? nil : token)
            else {
                throw ValidationError(
                    "These are not credentials of a bucket. Give the access key id and the secret access key, "
                        + "each on a line of its own.")
            }
            try await settings.set(credentials, for: .storageCredentials)
            Console.print("The credentials of the bucket are stored.")
        }
    }

    struct RemoveStorage: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Removes the credentials of the bucket.")
        @OptionGroup var options: Options

        func run() async throws {
            try await options.open().remove(.storageCredentials)
            Console.print("The credentials of the bucket are removed.")
        }
    }

    struct Adopt: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Creates new secrets after the previous ones were lost.",
            discussion: "All browsers have to log in again. Set the credentials of the bucket again.")
        @OptionGroup var options: Options

        func run() async throws {
            try await options.open().adoptKeychain()
            Console.print("The journal has new secrets.")
        }
    }
}

import ArgumentParser
import Foundation
import JournalStorage
import JournalWeb
import LFSSettings

/// What nobody else may know of a journal: the keys to its bucket, and what its cookies are signed with.
struct SecretsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secrets", abstract: "Keeps the keys to the bucket, and tells which secrets there are.",
        discussion: "They are in a sealed file in the folder of --secrets. None of them is ever shown.",
        subcommands: [Show.self, SetStorage.self, RemoveStorage.self, Adopt.self], defaultSubcommand: Show.self)

    /// Says what to do where the secrets are others than before.
    static func explaining<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as SettingsError where error.code == .keychainReplaced {
            throw WebError(
                .unusableFile,
                """
                The secrets of this journal are not in the folder where they were: put it back, or name it with \
                --secrets. If they are gone for good, begin anew: \
                journal secrets adopt --database FILE. (\(error.message))
                """)
        }
    }

    /// The journal that they are of.
    struct Options: ParsableArguments {
        @Option(help: ArgumentHelp("The SQLite database of the journal.", valueName: "file"))
        var database: String

        @OptionGroup var secrets: SecretsOptions

        func open() async throws -> StorageRouter {
            guard FileManager.default.fileExists(atPath: database) else {
                throw ValidationError("There is no database \(database).")
            }
            let pool = try await DatabaseStorageService.openDatabase(at: URL(filePath: database))
            return try await JournalSettings.open(pool, secrets: secrets.folder())
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Tells which secrets are kept, and none of them.")
        @OptionGroup var options: Options

        func run() async throws {
            let settings = try await options.open()
            let isKept = try await SecretsCommand.explaining { try await settings.exists(.storageCredentials) }
            Console.print("Keys to the bucket: \(isKept ? "kept" : "none")")
        }
    }

    struct SetStorage: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Keeps the keys to the bucket.",
            discussion: """
                Reads them from the standard input, each on a line of its own: the id of the access key, the secret key
                and, for temporary ones, the session token. What the environment says counts more.
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
                    "These are no keys to a bucket. Give the id and the secret key, each on a line of its own.")
            }
            try await settings.set(credentials, for: .storageCredentials)
            Console.print("The keys to the bucket are kept.")
        }
    }

    struct RemoveStorage: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Removes the keys to the bucket.")
        @OptionGroup var options: Options

        func run() async throws {
            try await options.open().remove(.storageCredentials)
            Console.print("The keys to the bucket are not kept any more.")
        }
    }

    struct Adopt: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Begins with new secrets, where those of before are gone for good.",
            discussion: "All browsers have to log in again then, and the keys to the bucket have to be given again.")
        @OptionGroup var options: Options

        func run() async throws {
            try await options.open().adoptKeychain()
            Console.print("The secrets begin anew.")
        }
    }
}

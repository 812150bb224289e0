import ArgumentParser
import Foundation
import JournalStorage
import JournalWeb
import LFSSettings
import LFSStorage

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
        subcommands: [
            Show.self, SetStorage.self, RemoveStorage.self, SetCertificate.self, RemoveCertificate.self, Adopt.self,
        ], defaultSubcommand: Show.self)

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
            return try await JournalSettings.open(pool, secrets: secrets.folder(), isRepair: true)
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Shows which secrets are stored, not their values.")
        @OptionGroup var options: Options

        func run() async throws {
            let settings = try await options.open()
            let isKept = try await SecretsCommand.explaining { try await settings.exists(.storageCredentials) }
            Console.print("Credentials of the bucket: \(isKept ? "stored" : "none")")
            let hasCertificate = try await settings.exists(.clientCertificate)
            Console.print("Client certificate: \(hasCertificate ? "stored" : "none")")
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

    struct SetCertificate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Stores a certificate for a bucket and a sync server that require one.",
            discussion: """
                FILE is PEM with the certificate, its chain and its private key, or PKCS#12.
                The first line of the standard input is the password of the key. It is empty
                for a key that is not encrypted. Both together have at most 4 KiB.
                """)
        @Argument(help: "The file of the certificate.") var file: String
        @OptionGroup var options: Options

        func run() async throws {
            let settings = try await options.open()
            guard let data = try? Data(contentsOf: URL(filePath: file)) else {
                throw ValidationError("The file \(file) cannot be read.")
            }
            let isPEM = data.firstRange(of: Data("PRIVATE KEY-----".utf8)) != nil
            // A PKCS#12 file is a DER sequence.
            guard isPEM || data.first == 0x30 else {
                throw ValidationError(
                    "\(file) has no private key. Give a PEM file with certificate and key, or PKCS#12.")
            }
            let password = readLine() ?? ""
            let certificate = ClientCertificate(data, password: password.isEmpty ? nil : password)
            try await settings.set(certificate, for: .clientCertificate)
            Console.print("The certificate is stored.")
        }
    }

    struct RemoveCertificate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Removes the client certificate.")
        @OptionGroup var options: Options

        func run() async throws {
            try await options.open().remove(.clientCertificate)
            Console.print("The certificate is removed.")
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

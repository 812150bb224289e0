import ArgumentParser
import Foundation
import JournalStorage
import JournalWeb
import LFSSettings
import Logging

/// The command-line options of the web server.
struct WebArguments: ParsableArguments {
    @Option(help: ArgumentHelp("The address and port. Port 0 is a free port.", valueName: "host:port"))
    var listen = "127.0.0.1:8080"

    @Option(help: ArgumentHelp("A file whose first line is the password.", valueName: "file"))
    var passwordFile: String?

    @Option(help: ArgumentHelp("The certificate chain for TLS, a PEM file.", valueName: "file"))
    var tlsCertificate: String?

    @Option(help: ArgumentHelp("The private key of the certificate, a PEM file.", valueName: "file"))
    var tlsKey: String?

    @Option(help: ArgumentHelp("Another host name at which browsers reach the server.", valueName: "name"))
    var hostName: [String] = []

    @Option(help: ArgumentHelp("The maximum size of a picture.", valueName: "MiB"))
    var maxPicture = 64

    @Flag(help: "Fill an empty journal with sample records, and show switches for faults of the storage.")
    var demo = false

    func validate() throws { _ = try options(logger: Logger(label: "journal"), reads: false) }

    /// - Parameter reads: Indicates that the file of the password is read. Otherwise only the command line is checked.
    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    func options(logger: Logger, reads: Bool = true) throws -> WebOptions {
        var options = WebOptions()
        guard let address = ListenAddress(listen) else {
            throw ValidationError("--listen is not an address. Write HOST:PORT, such as 127.0.0.1:8080.")
        }
        guard (1...100_000).contains(maxPicture) else {
            throw ValidationError("--max-picture has to be a number from 1 to 100000.")
        }
        options.address = address
        options.hostNames = hostName
        options.logger = logger
        options.maxPictureByteCount = Int64(maxPicture) << 20
        switch (tlsCertificate, tlsKey) {
        case (let certificate?, let key?): options.tls = .init(certificate: certificate, key: key)
        case (nil, nil): break
        default: throw ValidationError("--tls-certificate and --tls-key belong together. Give both.")
        }
        if let passwordFile {
            options.password =
                reads ? try Self.line(ofFile: passwordFile, name: "password") : "is checked when it is read"
        }
        do { try options.requireSafe() } catch { throw ValidationError(error.message) }
        return options
    }

    /// Returns the first line of a file.
    ///
    /// - Parameter name: The name of the file in the error.
    static func line(ofFile path: String, name: String) throws -> String {
        guard let text = try? String(contentsOf: URL(filePath: path), encoding: .utf8) else {
            throw ValidationError("The \(name) file \(path) cannot be read.")
        }
        return text.split(separator: "\n", omittingEmptySubsequences: false).first.map(String.init) ?? ""
    }
}

/// The command-line options for the folders in which pictures may be backed up.
struct BackupArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A folder of picture folders that users can select for backup.",
            valueName: "folder"))
    var backupRoot: [String] = []

    func validate() throws {
        guard backupRoot.allSatisfy({ $0.hasPrefix("/") && !$0.split(separator: "/").contains("..") }) else {
            throw ValidationError("--backup-root has to be a path that begins with / and has no '..'.")
        }
    }

    /// Returns the backup, or nil without `--backup-root`.
    func open(
        _ journal: DatabaseStorageService, settings: StorageRouter, excluding own: [String], isOnFolder: Bool,
        logger: Logger
    ) -> FolderBackup? {
        if backupRoot.isEmpty { return nil }
        return FolderBackup(
            journal, settings: settings, roots: BackupRoots(backupRoot, excluding: own), isOnFolder: isOnFolder,
            logger: logger)
    }
}

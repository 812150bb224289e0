import ArgumentParser
import Foundation
import JournalWeb
import Logging

/// Where and for whom the page is served, as it is written on the command line.
struct WebArguments: ParsableArguments {
    @Option(help: ArgumentHelp("Where to listen; port 0 takes a free one.", valueName: "host:port"))
    var listen = "127.0.0.1:8080"

    @Option(help: ArgumentHelp("A file whose first line is the password.", valueName: "file"))
    var passwordFile: String?

    @Option(help: ArgumentHelp("The certificate for TLS, a PEM file.", valueName: "file"))
    var tlsCertificate: String?

    @Option(help: ArgumentHelp("The key of the certificate, a PEM file.", valueName: "file"))
    var tlsKey: String?

    @Option(help: ArgumentHelp("A further name by which browsers reach the server.", valueName: "name"))
    var hostName: [String] = []

    @Option(help: ArgumentHelp("How large a picture may be.", valueName: "MiB"))
    var maxPicture = 64

    func validate() throws { _ = try options(logger: Logger(label: "journal"), reads: false) }

    /// - Parameter reads: whether the file of the password is read, or only the line checked.
    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    func options(logger: Logger, reads: Bool = true) throws -> WebOptions {
        var options = WebOptions()
        guard let address = ListenAddress(listen) else {
            throw ValidationError("--listen names no address. Write HOST:PORT, such as 127.0.0.1:8080.")
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
        default: throw ValidationError("--tls-certificate and --tls-key belong together.")
        }
        if let passwordFile {
            options.password = reads ? try Self.password(passwordFile) : "is checked when it is read"
        }
        do { try options.requireSafe() } catch { throw ValidationError(error.message) }
        return options
    }

    private static func password(_ path: String) throws -> String {
        guard let text = try? String(contentsOf: URL(filePath: path), encoding: .utf8) else {
            throw ValidationError("The file of the password, \(path), cannot be read.")
        }
        return text.split(separator: "\n", omittingEmptySubsequences: false).first.map(String.init) ?? ""
    }
}

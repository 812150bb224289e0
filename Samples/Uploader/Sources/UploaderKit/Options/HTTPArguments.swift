import ArgumentParser
import Foundation
import LFSStorage

/// The options of the connections to the storage and to the sync server.
struct HTTPArguments: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The certificate and private key that the storage and the sync server require: a PEM or PKCS#12 file.",
            valueName: "file", visibility: .detail), completion: .file())
    var clientCertificate: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "A file whose first line is the password of the private key.", valueName: "file", visibility: .detail),
        completion: .file())
    var clientCertificatePasswordFile: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            A command that prints this password as its first line, such as one that reads a keyring: \
            'secret-tool lookup uploader client'.
            """, valueName: "command", visibility: .detail))
    var clientCertificatePasswordCommand: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "A file with header fields for the storage and the sync server, one 'Name: value' a line.",
            valueName: "file", visibility: .detail), completion: .file())
    var headersFile: String?

    func validate() throws {
        let hasPassword = clientCertificatePasswordFile != nil || clientCertificatePasswordCommand != nil
        guard !hasPassword || clientCertificate != nil else {
            throw ValidationError("The password of a client certificate needs --client-certificate.")
        }
        guard clientCertificatePasswordFile == nil || clientCertificatePasswordCommand == nil else {
            throw ValidationError(
                "Give --client-certificate-password-file or --client-certificate-password-command, not both.")
        }
    }

    /// The connection options: those of the command line, and the certificate authorities from curl's environment
    /// variables.
    ///
    /// - Throws: ``UploaderError`` for a file that cannot be read.
    var connection: ConnectionOptions {
        get throws {
            let environment = ProcessInfo.processInfo.environment
            var connection = ConnectionOptions()
            connection.certificateAuthorities = environment["CURL_CA_BUNDLE"] ?? environment["SSL_CERT_FILE"]
            if let clientCertificate {
                connection.clientCertificate = ClientCertificate(
                    try Self.read(clientCertificate), password: try certificatePassword())
            }
            if let headersFile { connection.headers = try Self.headers(in: headersFile) }
            return connection
        }
    }

    private static func read(_ path: String) throws -> Data {
        do {
            return try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw UploaderError("\(Printable.text(path)) cannot be read: \(error.localizedDescription)")
        }
    }

    /// Returns the fields of a file. Empty lines and lines that begin with `#` are ignored.
    private static func headers(in path: String) throws -> [String: String] {
        var headers: [String: String] = [:]
        let lines = String(decoding: try read(path), as: UTF8.self).split(whereSeparator: \.isNewline)
        for line in lines where !line.hasPrefix("#") && !line.allSatisfy(\.isWhitespace) {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts[0].trimmingCharacters(in: .whitespaces)
            guard parts.count == 2, !name.isEmpty else {
                // The line may be a secret, so the message does not contain it.
                throw UploaderError("\(Printable.text(path)) has a line that is not of the form 'Name: value'.")
            }
            guard headers.updateValue(parts[1].trimmingCharacters(in: .whitespaces), forKey: name) == nil else {
                throw UploaderError("\(Printable.text(path)) has the field \(Printable.text(name)) twice.")
            }
        }
        return headers
    }

    /// Returns the password of the private key from its file or its command. Nil without both.
    private func certificatePassword() throws -> String? {
        if let clientCertificatePasswordFile { return Self.firstLine(of: try Self.read(clientCertificatePasswordFile)) }
        return try clientCertificatePasswordCommand.map { Self.firstLine(of: try Self.output(of: $0)) }
    }

    /// Returns the output of a shell command, which may ask at the terminal.
    ///
    /// - Throws: ``UploaderError`` without the output, which may contain a password.
    private static func output(of command: String) throws -> Data {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command]
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            throw UploaderError(
                "The command of --client-certificate-password-command failed with status \(process.terminationStatus).")
        }
        return data
    }

    private static func firstLine(of data: Data) -> String {
        String(decoding: data.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
    }
}

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
            "A file with header fields for the storage and the sync server, one 'Name: value' a line.",
            valueName: "file", visibility: .detail), completion: .file())
    var headersFile: String?

    func validate() throws {
        guard clientCertificatePasswordFile == nil || clientCertificate != nil else {
            throw ValidationError("--client-certificate-password-file needs --client-certificate.")
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
                    try Self.read(clientCertificate), password: try clientCertificatePasswordFile.map(Self.firstLine))
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

    private static func firstLine(of path: String) throws -> String {
        String(decoding: try read(path).prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
    }
}

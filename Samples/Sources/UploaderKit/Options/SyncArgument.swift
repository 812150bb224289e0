import ArgumentParser
import Foundation
import GRDB
import LFSSync

/// The server whose other devices have the same files.
struct SyncServerOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Share the files with the account's other devices through this server, with the token in LFS_SYNC_TOKEN.",
            valueName: "url"))
    var sync: SyncArgument?
}

/// A sync server as it is written on the command line: `https://host`, or `http://127.0.0.1:8585`.
struct SyncArgument: ExpressibleByArgument, Sendable {
    let url: URL

    static let variable = "LFS_SYNC_TOKEN"

    init?(argument: String) {
        guard let url = URL(string: argument), let host = url.host, !host.isEmpty, url.user == nil,
            url.password == nil, url.query == nil, url.fragment == nil, ["http", "https"].contains(url.scheme)
        else { return nil }
        self.url = url
    }

    /// Returns the token of the environment.
    ///
    /// - Throws: ``UploaderError`` without one, and for a server that others could read it on the way to.
    @discardableResult
    func requireToken() throws -> String {
        try StorageArgument.requireEncryption(url)
        guard let token = ProcessInfo.processInfo.environment[Self.variable], !token.isEmpty else {
            throw UploaderError(
                "\(Self.variable) is not set: --sync needs the token that 'lfs-server session add' has printed.")
        }
        return token
    }

    /// Opens sync with the token of the environment.
    ///
    /// - Throws: ``UploaderError`` without one, `SyncError`.
    func open(_ database: any DatabaseWriter) async throws -> SyncClient {
        let token = try requireToken()
        var options = SyncOptions(server: url) { token }
        // Whoever writes http has said so.
        options.allowsPlainHTTP = url.scheme == "http"
        let environment = ProcessInfo.processInfo.environment
        options.certificateAuthorities = environment["CURL_CA_BUNDLE"] ?? environment["SSL_CERT_FILE"]
        return try await SyncClient.open(database, options: options)
    }
}

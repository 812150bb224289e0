import ArgumentParser
import Foundation
import GRDB
import LFSStorage
import LFSSync

/// The option for the sync server, which shares files with other devices.
struct SyncServerOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Share files with the other devices of an account through this server. LFS_SYNC_TOKEN is the token.",
            valueName: "url"))
    var sync: SyncArgument?
}

/// A sync server on the command line: `https://host`, or `http://127.0.0.1:8585`.
struct SyncArgument: ExpressibleByArgument, Sendable {
    let url: URL

    static let variable = "LFS_SYNC_TOKEN"

    init?(argument: String) {
        guard let url = URL(string: argument), let host = url.host, !host.isEmpty, url.user == nil,
            url.password == nil, url.query == nil, url.fragment == nil, ["http", "https"].contains(url.scheme)
        else { return nil }
        self.url = url
    }

    /// Returns the token from the environment.
    ///
    /// - Throws: ``UploaderError`` if no token is set, or if the connection to the server would be unencrypted.
    @discardableResult
    func requireToken() throws -> String {
        try StorageArgument.requireEncryption(url)
        guard let token = ProcessInfo.processInfo.environment[Self.variable], !token.isEmpty else {
            throw UploaderError(
                "\(Self.variable) is not set: --sync needs the token that 'lfs-server session add' has printed.")
        }
        return token
    }

    /// Opens a sync client with the token from the environment.
    ///
    /// - Parameter connection: the options of the command line. The client uses the certificates and the header
    ///   fields in them.
    /// - Throws: ``UploaderError`` if no token is set. `SyncError`.
    func open(_ database: any DatabaseWriter, connection: ConnectionOptions) async throws -> SyncClient {
        let token = try requireToken()
        // A server from the settings is in the list already.
        TrustedHosts().note(StorageLocation.host(url))
        var options = SyncOptions(server: url) { token }
        options.connection = connection
        // A user who writes http accepts it.
        options.allowsPlainHTTP = url.scheme == "http"
        options.usesProxyFromEnvironment = true
        return try await SyncClient.open(database, options: options)
    }
}

import ArgumentParser
import Foundation
import JournalStorage
import JournalWeb
import LFSSettings
import LFSSync
import Logging

/// The command-line options for the server that synchronizes the journal with the account's other devices.
struct SyncArguments: ParsableArguments {
    static let variable = "LFS_SYNC_TOKEN"

    @Option(
        help: ArgumentHelp(
            "The sync server: https://HOST. By default that of 'account login'.",
            valueName: "url"))
    var sync: String?

    @Option(
        help: ArgumentHelp(
            "A file whose first line is the current token, instead of LFS_SYNC_TOKEN.",
            valueName: "file"))
    var syncTokenFile: String?

    func validate() throws {
        _ = try sync.map(Self.url)
        guard syncTokenFile == nil || sync != nil else { throw ValidationError("--sync-token-file needs --sync.") }
    }

    /// Returns the synchronization, or nil without `--sync` and without an account.
    func open(_ journal: DatabaseStorageService, settings: StorageRouter, logger: Logger) async throws -> DeviceSync? {
        let server: URL
        let token: @Sendable () async throws -> String
        if let sync {
            server = try Self.url(sync)
            token = try givenToken()
        } else if let address = try await AccountSettings.address(settings) {
            server = try Self.url(address)
            // The token is read each time, so that another login applies without a restart.
            token = { try await settings.get(.accessToken) }
        } else {
            return nil
        }
        var options = SyncOptions(server: server, token: token)
        // The scheme http in the option is an explicit permission.
        options.allowsPlainHTTP = server.scheme == "http"
        options.usesProxyFromEnvironment = true
        options.clientCertificate = try await settings.getIfPresent(.clientCertificate)
        let environment = ProcessInfo.processInfo.environment
        options.certificateAuthorities = environment["CURL_CA_BUNDLE"] ?? environment["SSL_CERT_FILE"]
        return try await DeviceSync(journal, options: options, logger: logger)
    }

    /// - Throws: `ValidationError` for anything but the URL of a server.
    static func url(_ text: String) throws -> URL {
        guard let url = URL(string: text), let host = url.host(), !host.isEmpty, url.user == nil, url.password == nil,
            url.query == nil, url.fragment == nil, ["http", "https"].contains(url.scheme)
        else {
            throw ValidationError(
                "The sync server is not a server's URL. Write https://HOST or http://127.0.0.1:8585.")
        }
        return url
    }

    private func givenToken() throws -> @Sendable () async throws -> String {
        if let syncTokenFile {
            _ = try WebArguments.line(ofFile: syncTokenFile, name: "token")
            // The file is read each time, so that a new token restores the access of a device that was signed out.
            return { try WebArguments.line(ofFile: syncTokenFile, name: "token") }
        }
        guard let token = ProcessInfo.processInfo.environment[Self.variable], !token.isEmpty else {
            throw ValidationError(
                """
                --sync needs the token that 'lfs-server session add' prints, in \(Self.variable) or in the file \
                of --sync-token-file.
                """)
        }
        return { token }
    }
}

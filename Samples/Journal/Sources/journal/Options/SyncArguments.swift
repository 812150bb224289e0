import ArgumentParser
import Foundation
import JournalStorage
import JournalWeb
import LFSSync
import Logging

/// The server that shares the journal with the account's other devices, as it is written on the command line.
struct SyncArguments: ParsableArguments {
    static let variable = "LFS_SYNC_TOKEN"

    @Option(
        help: ArgumentHelp(
            "Share the journal with the account's other devices through this server: https://HOST, or http://HOST:PORT "
                + "on a network that you trust. The token comes from LFS_SYNC_TOKEN.", valueName: "url"))
    var sync: String?

    @Option(
        help: ArgumentHelp(
            "A file whose first line is the token, in the place of LFS_SYNC_TOKEN. A new one is taken at once.",
            valueName: "file"))
    var syncTokenFile: String?

    func validate() throws {
        _ = try server()
        guard syncTokenFile == nil || sync != nil else { throw ValidationError("--sync-token-file belongs to --sync.") }
    }

    /// What shares a journal; nil without `--sync`.
    func open(_ journal: DatabaseStorageService, logger: Logger) async throws -> DeviceSync? {
        guard let server = try server() else { return nil }
        var options = SyncOptions(server: server, token: try token())
        // Whoever writes http has said so.
        options.allowsPlainHTTP = server.scheme == "http"
        return try await DeviceSync(journal, options: options, logger: logger)
    }

    private func server() throws -> URL? {
        guard let sync else { return nil }
        guard let url = URL(string: sync), let host = url.host(), !host.isEmpty, url.user == nil, url.password == nil,
            url.query == nil, url.fragment == nil, ["http", "https"].contains(url.scheme)
        else { throw ValidationError("--sync names no server. Write https://HOST, or http://127.0.0.1:8585.") }
        return url
    }

    private func token() throws -> @Sendable () async throws -> String {
        if let syncTokenFile {
            _ = try Self.token(in: syncTokenFile)
            // Each time: a device that was signed out gets in again with a new one.
            return { try Self.token(in: syncTokenFile) }
        }
        guard let token = ProcessInfo.processInfo.environment[Self.variable], !token.isEmpty else {
            throw ValidationError(
                """
                --sync needs the token that 'lfs-server session add' has printed, in \(Self.variable) or in the file \
                of --sync-token-file.
                """)
        }
        return { token }
    }

    private static func token(in path: String) throws -> String {
        guard let text = try? String(contentsOf: URL(filePath: path), encoding: .utf8) else {
            throw ValidationError("The file of the token, \(path), cannot be read.")
        }
        return text.split(separator: "\n", omittingEmptySubsequences: false).first.map(String.init) ?? ""
    }
}

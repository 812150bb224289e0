import ArgumentParser
package import Foundation
import LFSStorage
import LFSWebDAV

/// A folder on a WebDAV server as it is written on the command line: `webdav+https://host/path?read-back=true`.
package struct WebDAVArgument: Sendable {
    package var url: URL
    /// Whether every upload is read back.
    package var readsBack = false

    static let form = "webdav+https://host/path"
    static let schemes = ["webdav+https", "webdav+http"]

    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    package init(parsing text: String) throws {
        let parts = text.dropFirst("webdav+".count).split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let url = URL(string: String(parts[0])), url.host?.isEmpty == false else {
            throw ValidationError("'\(parts[0])' is not the URL of a folder on a server: write \(Self.form).")
        }
        guard url.user == nil, url.password == nil, !parts[0].contains("@") else {
            throw ValidationError(
                """
                Keep the password out of the command line, where everybody sees it: use WEBDAV_USER and \
                WEBDAV_PASSWORD, or WEBDAV_TOKEN, in the environment. What was written here is known by now: make a \
                new one.
                """)
        }
        self.url = url
        for item in parts.dropFirst().first?.split(separator: "&") ?? [] {
            guard let setting = Self.settings.first(where: { $0.text == item }) else {
                throw ValidationError(
                    "'\(item)' is no setting of a WebDAV folder. There is: read-back=true or read-back=false.")
            }
            readsBack = setting.readsBack
        }
    }

    private static let settings: [(text: Substring, readsBack: Bool)] = [
        ("read-back=true", true), ("read-back=false", false),
    ]

    /// Where the folder is.
    var location: StorageLocation { StorageLocation(server: url, scheme: "webdav") }

    /// Opens the folder with the credentials of the environment.
    func open(_ transfer: TransferOptions) async throws -> any RemoteStorage {
        let environment = ProcessInfo.processInfo.environment
        var options = WebDAVOptions()
        options.readsBack = readsBack
        options.uploadLimit = transfer.limitRate.map { Int($0.bytes) }
        options.downloadLimit = options.uploadLimit
        options.certificateAuthorities = environment["CURL_CA_BUNDLE"] ?? environment["SSL_CERT_FILE"]
        options.usesProxyFromEnvironment = true
        // Whoever writes http out has decided so.
        options.allowsPlainHTTP = url.scheme == "http"
        let storage = try WebDAVStorage(url: url, credentials: .environment, options: options)
        // Without them every single file would fail, each for itself.
        try await storage.requireCredentials()
        return storage
    }
}

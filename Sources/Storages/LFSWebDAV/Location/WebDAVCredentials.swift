import Foundation
import LFSHTTPStorage
import LFSStorage

/// The credentials for a WebDAV server.
///
/// The user's main password is not needed. On many servers, users can create a password for each app and revoke it
/// separately.
public struct WebDAVCredentials: Sendable {
    private let provide: @Sendable () async throws -> WebDAVLogin

    /// No credentials, for a server without authentication.
    public static let none = WebDAVCredentials { WebDAVLogin(field: nil) }

    /// Sends a name and a password with every request (RFC 7617).
    public static func basic(user: String, password: String) -> WebDAVCredentials {
        WebDAVCredentials { try .basic(user, password: password) }
    }

    /// Sends a token from a closure with every request (RFC 6750).
    ///
    /// The closure is called again when the server refuses the last token, so it may return temporary ones. It may
    /// throw any error, and a `StorageError` is rethrown unchanged.
    public static func bearer(_ token: @escaping @Sendable () async throws -> String) -> WebDAVCredentials {
        WebDAVCredentials { try .bearer(await token()) }
    }

    /// `WEBDAV_TOKEN`, or `WEBDAV_USER` and `WEBDAV_PASSWORD`, of this process. If they are unset, ``none``.
    public static var environment: WebDAVCredentials { environment(ProcessInfo.processInfo.environment) }

    package static func environment(_ variables: [String: String]) -> WebDAVCredentials {
        WebDAVCredentials {
            if let token = variables["WEBDAV_TOKEN"] { return try .bearer(token) }
            switch (variables["WEBDAV_USER"], variables["WEBDAV_PASSWORD"]) {
            case (nil, nil): return WebDAVLogin(field: nil)
            case (let user?, let password?): return try .basic(user, password: password)
            case (nil, _): throw missing("WEBDAV_USER")
            case (_, nil): throw missing("WEBDAV_PASSWORD")
            }
        }
    }

    private static func missing(_ variable: String) -> StorageError {
        StorageError(.unauthorized, message: "The environment has only half of the credentials: set \(variable) too.")
    }

    private init(provide: @escaping @Sendable () async throws -> WebDAVLogin) {
        self.provide = provide
    }

    func login() async throws -> WebDAVLogin { try await provide() }
}

/// The value of the `Authorization` field, or nil to send none.
struct WebDAVLogin: ExpiringCredentials, Hashable {
    let field: String?
    var expiration: Date? { nil }
    var description: String { "credentials" }

    init(field: String?) { self.field = field }

    static func basic(_ user: String, password: String) throws(StorageError) -> WebDAVLogin {
        guard !user.utf8.contains(UInt8(ascii: ":")) else {
            throw StorageError(.unauthorized, message: "A user's name cannot have a ':' in it.")
        }
        return WebDAVLogin(field: "Basic " + Data("\(user):\(password)".utf8).base64EncodedString())
    }

    static func bearer(_ token: String) throws(StorageError) -> WebDAVLogin {
        guard !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw StorageError(
                .unauthorized, message: "The token is empty, or has blanks or other invalid characters.")
        }
        return WebDAVLogin(field: "Bearer " + token)
    }
}

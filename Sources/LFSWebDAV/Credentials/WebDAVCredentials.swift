import Foundation
import LFSHTTPStorage
import LFSStorage

/// What a server of WebDAV is shown to be let in.
///
/// The server's own password is not needed: many let a user make one for each app, which can be taken back alone.
public struct WebDAVCredentials: Sendable {
    private let provide: @Sendable () async throws -> WebDAVLogin

    /// For a server that lets everybody in.
    public static let none = WebDAVCredentials { WebDAVLogin(field: nil) }

    /// A name and a password, sent with every request (RFC 7617).
    public static func basic(user: String, password: String) -> WebDAVCredentials {
        WebDAVCredentials { try .basic(user, password) }
    }

    /// A token that a closure fetches, sent with every request (RFC 6750). It is asked again when the server refuses
    /// the last one, so it may hand out temporary ones. It may throw any error; a `StorageError` comes out as it is.
    public static func bearer(_ token: @escaping @Sendable () async throws -> String) -> WebDAVCredentials {
        WebDAVCredentials { try .bearer(await token()) }
    }

    /// `WEBDAV_TOKEN`, or `WEBDAV_USER` and `WEBDAV_PASSWORD`, of this process; ``none`` when neither is set.
    public static var environment: WebDAVCredentials { environment(ProcessInfo.processInfo.environment) }

    package static func environment(_ variables: [String: String]) -> WebDAVCredentials {
        WebDAVCredentials {
            if let token = variables["WEBDAV_TOKEN"] { return try .bearer(token) }
            switch (variables["WEBDAV_USER"], variables["WEBDAV_PASSWORD"]) {
            case (nil, nil): return WebDAVLogin(field: nil)
            case (let user?, let password?): return try .basic(user, password)
            case (nil, _): throw missing("WEBDAV_USER")
            case (_, nil): throw missing("WEBDAV_PASSWORD")
            }
        }
    }

    private static func missing(_ variable: String) -> StorageError {
        StorageError(.unauthorized, "The environment has half of the credentials: set \(variable) too.")
    }

    private init(provide: @escaping @Sendable () async throws -> WebDAVLogin) {
        self.provide = provide
    }

    func login() async throws -> WebDAVLogin { try await provide() }
}

/// The value of the `Authorization` field; nil where none is sent.
struct WebDAVLogin: ExpiringCredentials, Hashable {
    let field: String?
    var expiration: Date? { nil }
    var description: String { "credentials" }

    init(field: String?) { self.field = field }

    static func basic(_ user: String, _ password: String) throws(StorageError) -> WebDAVLogin {
        guard !user.utf8.contains(UInt8(ascii: ":")) else {
            throw StorageError(.unauthorized, "A user's name cannot have a ':' in it.")
        }
        return WebDAVLogin(field: "Basic " + Data("\(user):\(password)".utf8).base64EncodedString())
    }

    static func bearer(_ token: String) throws(StorageError) -> WebDAVLogin {
        guard !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw StorageError(.unauthorized, "The token is empty, or has blanks or other characters that none has.")
        }
        return WebDAVLogin(field: "Bearer " + token)
    }
}

import Foundation
import LFSHTTPStorage
import LFSStorage

/// The authorization of an app at its signing server.
public struct SigningAuthorization: Sendable {
    /// Returns a token. The argument is the token that the server refused, or nil.
    let token: @Sendable (_ refused: String?) async throws -> String

    /// Sends a token with every request to the signing server, and to no other server (RFC 6750).
    ///
    /// - Parameter token: a closure that returns a token. It is called before the first request, and again when the
    ///   server refuses a token. Its argument is the refused token, so it can refresh it, or return one that it has
    ///   received since. It is called once for many requests. If it throws, the storage pauses until there is a token
    ///   again, and no file fails. A `StorageError` is rethrown unchanged, and any other error becomes
    ///   `StorageError.Code.unauthorized`.
    public static func bearer(_ token: @escaping @Sendable (_ refused: String?) async throws -> String) -> Self {
        Self(token: token)
    }

    /// The token in `LFS_TOKEN` of this process.
    public static var environment: Self { environment(ProcessInfo.processInfo.environment) }

    package static func environment(_ variables: [String: String]) -> Self {
        .bearer { refused in
            guard let token = variables["LFS_TOKEN"], !token.isEmpty else {
                throw StorageError(
                    .unauthorized,
                    message:
                        "There is no token for the signing server: set LFS_TOKEN in the environment."
                )
            }
            guard token != refused else {
                throw StorageError(
                    .unauthorized,
                    message:
                        "The signing server refuses the token in LFS_TOKEN: it expired or was revoked. Get a new one."
                )
            }
            return token
        }
    }
}

/// A token of a request. Its description does not show it.
struct BearerToken: ExpiringCredentials, Hashable {
    let text: String
    /// nil, because only the server knows the expiration.
    var expiration: Date? { nil }
    var description: String { "a token" }

    /// - Throws: ``StorageError/Code/unauthorized`` for a text that is invalid in a header field.
    init(_ text: String) throws(StorageError) {
        guard !text.isEmpty, text.utf8.count <= 16 << 10, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw StorageError(
                .unauthorized, message: "The token is empty, too long, or has blanks or other invalid characters."
            )
        }
        self.text = text
    }

    /// The value of the `Authorization` field.
    var field: String { "Bearer " + text }
}

import Foundation
import LFSHTTPStorage
import LFSStorage

/// How an app shows its signing server who asks.
public struct SigningAuthorization: Sendable {
    /// Returns a token, with the one that the server refused; nil where none was.
    let token: @Sendable (_ refused: String?) async throws -> String

    /// A token, sent with every request to the signing server and to nobody else (RFC 6750).
    ///
    /// - Parameter token: asked for before the first request, and again when the server refuses a token: it is told
    ///   which one then, so that it may fetch another one or hand out the one that it has got meanwhile. It is asked
    ///   once for many requests. What it throws stops the storage until there is a token again, and blames no file: a
    ///   `StorageError` comes out as it is, anything else as `StorageError.Code.unauthorized`.
    public static func bearer(_ token: @escaping @Sendable (_ refused: String?) async throws -> String) -> Self {
        Self(token: token)
    }

    /// `LFS_TOKEN` of this process.
    public static var environment: Self { environment(ProcessInfo.processInfo.environment) }

    package static func environment(_ variables: [String: String]) -> Self {
        .bearer { refused in
            guard let token = variables["LFS_TOKEN"], !token.isEmpty else {
                throw StorageError(
                    .unauthorized,
                    "There is no token for the signing server: set LFS_TOKEN in the environment to the one it gave.")
            }
            guard token != refused else {
                throw StorageError(
                    .unauthorized,
                    "The signing server refuses the token in LFS_TOKEN: it has ended or was taken back. Get a new one.")
            }
            return token
        }
    }
}

/// A token as a request has it. Its description does not show it.
struct BearerToken: ExpiringCredentials, Hashable {
    let text: String
    /// The server knows when it ends.
    var expiration: Date? { nil }
    var description: String { "a token" }

    /// - Throws: ``StorageError/Code/unauthorized`` for a text that no header field can carry.
    init(_ text: String) throws(StorageError) {
        guard !text.isEmpty, text.utf8.count <= 16 << 10, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw StorageError(
                .unauthorized, "The token is empty, too long, or has blanks or other characters that none has.")
        }
        self.text = text
    }

    /// The value of the `Authorization` field.
    var field: String { "Bearer " + text }
}

import LFSHTTPStorage
import LFSStorage
import LFSSystem
import Synchronization

/// A cache that keeps the token until the server refuses it. It then asks the app for another one, once for many
/// requests.
///
/// The mutex owns the refused token.
final class Tokens: Sendable {
    private let cache: CredentialsCache<BearerToken>
    private let refused: Refused

    private final class Refused: Sendable {
        let token = Mutex<String?>(nil)
    }

    init(_ authorization: SigningAuthorization) {
        let refused = Refused()
        self.refused = refused
        cache = CredentialsCache {
            let token: String
            do {
                token = try await authorization.token(refused.token.withLock { $0 })
            } catch let error as StorageError {
                throw error
            } catch let error as CancellationError {
                throw error
            } catch {
                // The message shows only an excerpt. The app's error is kept as the cause.
                let reason = SanitizedErrorText.excerpt(String(describing: error))
                throw StorageError(
                    .unauthorized, message: "The app has no token for the signing server: \(reason)", cause: error)
            }
            return try BearerToken(token)
        }
    }

    /// - Throws: ``StorageError``: the app's error, or ``StorageError/Code/unauthorized``.
    func current() async throws -> CredentialsCache<BearerToken>.Issued { try await cache.current() }

    /// Drops a token that the server refused. The next call of the app's closure receives it.
    func refuse(_ issued: CredentialsCache<BearerToken>.Issued) {
        refused.token.withLock { $0 = issued.credentials.text }
        cache.invalidate(issued)
    }
}

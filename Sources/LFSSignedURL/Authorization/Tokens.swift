import LFSHTTPStorage
import LFSStorage
import LFSSystem
import Synchronization

/// Keeps the token until the server refuses it, and asks the app for another one, once for many requests.
///
/// Owner of the refused token: the mutex.
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
                // The error is the app's own, and may show what it likes in its own cause.
                throw StorageError(
                    .unauthorized,
                    "The app has no token for the signing server: \(ServerText.excerpt(String(describing: error)))",
                    cause: error)
            }
            return try BearerToken(token)
        }
    }

    /// - Throws: ``StorageError``: what the app threw, or ``StorageError/Code/unauthorized``.
    func current() async throws -> CredentialsCache<BearerToken>.Issued { try await cache.current() }

    /// Forgets a token that the server refused, and tells the app of it when it is asked for another one.
    func refuse(_ issued: CredentialsCache<BearerToken>.Issued) {
        refused.token.withLock { $0 = issued.credentials.text }
        cache.invalidate(issued)
    }
}

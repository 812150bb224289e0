import Foundation
import HTTPTypes
public import Hummingbird
public import Logging
import Synchronization

/// An authenticator for the users of a ``TokenFile``. It reloads a changed file within a second, so a revoked token is
/// refused without a restart.
///
/// The mutex owns its state.
public final class TokenAuthentication: Sendable {
    private struct State {
        var file: TokenFile
        var looked: ContinuousClock.Instant
    }

    private let path: String
    private let logger: Logger
    private let interval: Duration
    private let state: Mutex<State>

    /// Reads the file.
    ///
    /// - Parameters:
    ///   - path: the path of the file.
    ///   - logger: receives an error if the file becomes unreadable. The last valid content stays in effect.
    ///   - interval: the time after which the file is read again.
    /// - Throws: ``TokenFile/Failure``.
    public init(path: String, logger: Logger, interval: Duration = .seconds(1)) throws {
        self.path = path
        self.logger = logger
        self.interval = interval
        state = Mutex(State(file: try TokenFile(path: path), looked: .now))
    }

    /// Returns the user of a request's bearer token (RFC 6750), or nil without a valid token.
    public func name(of request: Request) -> String? {
        BearerToken.text(of: request).flatMap { file().name(of: $0) }
    }

    private func file() -> TokenFile {
        state.withLock { state in
            guard state.looked.duration(to: .now) >= interval else { return state.file }
            state.looked = .now
            do {
                state.file = try TokenFile(path: path)
            } catch {
                logger.error(
                    "The file of tokens cannot be read, so the previous users are served.",
                    metadata: ["error": "\(error)"])
            }
            return state.file
        }
    }
}

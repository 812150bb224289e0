import Foundation
import HTTPTypes
public import Hummingbird
public import Logging
import Synchronization

/// Knows the users of a ``TokenFile``, and learns of changes to it within a second: a token that was revoked opens
/// nothing from then on, without a restart.
///
/// Owner of its state: the mutex.
public final class TokenAuthentication: Sendable {
    private struct State {
        var file: TokenFile
        var looked: ContinuousClock.Instant
    }

    private let path: String
    private let logger: Logger
    private let interval: Duration
    private let state: Mutex<State>

    /// - Parameters:
    ///   - path: of the file.
    ///   - logger: is told of a file that cannot be read any more. What it said last stays in effect then.
    ///   - interval: how long what was read counts.
    /// - Throws: ``TokenFile/Failure``.
    public init(path: String, logger: Logger, interval: Duration = .seconds(1)) throws {
        self.path = path
        self.logger = logger
        self.interval = interval
        state = Mutex(State(file: try TokenFile(path: path), looked: .now))
    }

    /// The user of a request's bearer token (RFC 6750); nil without a valid one.
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
                    "The file of tokens cannot be read: the users of before are served.",
                    metadata: ["error": "\(error)"])
            }
            return state.file
        }
    }
}

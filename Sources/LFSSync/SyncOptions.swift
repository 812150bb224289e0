public import Foundation
package import LFSHTTP

/// How a device syncs.
public struct SyncOptions: Sendable {
    /// The server's base URL: `https://app.example`.
    public var server: URL
    /// Returns the token of the session, before each request. An error of it is ``SyncError/Code/noToken``, unless it
    /// is a ``SyncError`` or a `CancellationError`.
    public var token: @Sendable () async throws -> String
    /// Whether an `http` URL of another machine is allowed. The token and the rows can be read on the way then.
    /// `localhost`, `127.0.0.0/8` and `::1` need no permission.
    public var allowsPlainHTTP = false
    /// The path of a PEM file with the authorities to trust instead of the system's, for a server with a certificate of
    /// one's own.
    public var certificateAuthorities: String?
    package var transport: (any HTTPTransport)?
    package var clock: any Clock<Duration> = ContinuousClock()
    /// How long lines wait for others, so that they are applied together.
    package var lineClock: any Clock<Duration> = ContinuousClock()

    /// - Parameters:
    ///   - server: the server's base URL.
    ///   - token: returns the token of the session.
    public init(server: URL, token: @escaping @Sendable () async throws -> String) {
        self.server = server
        self.token = token
    }
}

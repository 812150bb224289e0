public import Foundation
package import LFSHTTP

/// How a device syncs.
public struct SyncOptions: Sendable {
    /// The server's base URL: `https://app.example`.
    public var server: URL
    /// Returns the token of the session, before each request.
    public var token: @Sendable () async throws -> String
    /// Whether `http` is taken, with which everybody on the way can read the token and the rows.
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

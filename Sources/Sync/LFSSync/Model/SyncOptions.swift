public import Foundation
package import LFSHTTP
public import LFSStorage

/// Options of a sync client.
public struct SyncOptions: Sendable {
    /// The server's base URL, such as `https://app.example`.
    public var server: URL
    /// A closure that returns the session's token. It is called before each request. Its errors become
    /// ``SyncError/Code/noToken``, except for ``SyncError`` and `CancellationError`.
    public var token: @Sendable () async throws -> String
    /// Permits an `http` URL of another machine. The token and the rows are then readable on the network. `localhost`,
    /// `127.0.0.0/8` and `::1` need no permission. The default is false.
    public var allowsPlainHTTP = false
    /// The path of a PEM file with the authorities to trust instead of the system's, for a server whose certificate
    /// comes from your own authority.
    public var certificateAuthorities: String?
    /// The certificate for a server that requires one of its clients. `URLSession`, the engine on iOS, refuses it.
    public var clientCertificate: ClientCertificate?
    /// Further header fields of each request, for example for a proxy in front of the server that authenticates
    /// clients. The rules are those of `ConnectionOptions.headers`. A name that is not allowed is
    /// ``SyncError/Code/invalidServer``.
    public var headers: [String: String] = [:]
    package var transport: (any HTTPTransport)?
    package var clock: any Clock<Duration> = ContinuousClock()
    /// The clock for the time that lines wait for further lines, so that they are applied together.
    package var lineClock: any Clock<Duration> = ContinuousClock()

    /// Creates options for a server, with defaults for everything else.
    ///
    /// - Parameters:
    ///   - server: the server's base URL.
    ///   - token: returns the token of the session.
    public init(server: URL, token: @escaping @Sendable () async throws -> String) {
        self.server = server
        self.token = token
    }
}

extension SyncOptions: CustomReflectable {
    /// The options for dumps, with the names of the header fields but not their values.
    public var customMirror: Mirror {
        let children: KeyValuePairs<String, Any> = [
            "server": server, "allowsPlainHTTP": allowsPlainHTTP,
            "certificateAuthorities": certificateAuthorities as Any, "clientCertificate": clientCertificate as Any,
            "headers": headers.keys.sorted(),
        ]
        return Mirror(self, children: children, displayStyle: .struct)
    }
}

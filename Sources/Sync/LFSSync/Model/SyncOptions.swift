public import Foundation
package import LFSHTTP
public import LFSStorage

/// Options of a sync client.
@dynamicMemberLookup
public struct SyncOptions: Sendable {
    /// The server's base URL, such as `https://app.example`. An `http` URL of another machine needs the permission
    /// `allowsPlainHTTP` of the connection, because others on the network can then read the token and the rows.
    public var server: URL
    /// A closure that returns the session's token. It is called before each request. Its errors become
    /// ``SyncError/Code/noToken``, except for ``SyncError`` and `CancellationError`.
    public var token: @Sendable () async throws -> String
    /// The connection settings, such as the certificates and further header fields. They are also available directly,
    /// as in `options.clientCertificate`. Settings that cannot be used are ``SyncError/Code/invalidServer``.
    public var connection = ConnectionOptions()
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

    /// A setting of the ``connection``.
    public subscript<Value>(dynamicMember setting: WritableKeyPath<ConnectionOptions, Value>) -> Value {
        get { connection[keyPath: setting] }
        set { connection[keyPath: setting] = newValue }
    }
}

extension SyncOptions: CustomReflectable {
    /// The options for dumps, with the names of the header fields but not their values.
    public var customMirror: Mirror {
        Mirror(self, children: ["server": server, "connection": connection], displayStyle: .struct)
    }
}

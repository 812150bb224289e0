package import Foundation

/// A real server of any kind that `Tests/Servers/with` has started.
///
/// Test targets add their own methods for servers of their kind.
package struct StartedServer: Codable, Sendable, CustomStringConvertible {
    package var name: String
    /// The name of the provider for S3. Other values are `webdav` and `signed`.
    package var profile: String
    package var endpoint: URL
    package var secureEndpoint: URL?
    /// The path to the certificate of the certificate authority.
    package var certificate: String?
    /// For WebDAV, the user name. For signed URLs, the token of a second user.
    package var accessKey: String
    /// For WebDAV, the password. For signed URLs, the token of the first user.
    package var secretKey: String
    package var region: String
    /// The folder in which objects are stored as plain files, or nil if the server has none.
    package var data: String?

    package var description: String { name }
}

extension StartedServers {
    /// Returns the running servers of a kind. The result is empty if the tests run without `Tests/Servers/with`.
    package static func all(where isWanted: (StartedServer) -> Bool) -> [StartedServer] {
        all(StartedServer.self).filter(isWanted)
    }
}

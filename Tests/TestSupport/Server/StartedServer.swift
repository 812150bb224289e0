package import Foundation

/// A real server that `Tests/Servers/with` has started, whatever it speaks.
///
/// Test targets add what they do with those of their kind.
package struct StartedServer: Codable, Sendable, CustomStringConvertible {
    package var name: String
    /// Of S3 the name of its provider, `webdav`, or `signed`.
    package var profile: String
    package var endpoint: URL
    package var secureEndpoint: URL?
    /// The path of the authority's certificate.
    package var certificate: String?
    /// Of WebDAV the user's name; of signed URLs the token of a second user.
    package var accessKey: String
    /// Of WebDAV the password; of signed URLs the token of the first user.
    package var secretKey: String
    package var region: String
    /// The folder in which the bytes of objects stand in files as they are, if there is one.
    package var data: String?

    package var description: String { name }
}

extension StartedServers {
    /// Those of a kind that run now; none when the tests run by themselves.
    package static func all(where isWanted: (StartedServer) -> Bool) -> [StartedServer] {
        all(StartedServer.self).filter(isWanted)
    }
}

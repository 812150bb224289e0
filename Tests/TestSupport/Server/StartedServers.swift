import Foundation

/// The servers that `Tests/Servers/with` has started.
package enum StartedServers {
    /// Decodes the servers from the environment, with the properties that a kind of tests needs. The result is empty if
    /// the tests run without `Tests/Servers/with`.
    package static func all<Server: Decodable>(_ type: Server.Type, in variable: String = "LFS_S3_SERVERS") -> [Server]
    {
        guard let text = ProcessInfo.processInfo.environment[variable] else { return [] }
        do {
            return try JSONDecoder().decode([Server].self, from: Data(text.utf8))
        } catch {
            fatalError("\(variable) cannot be read: \(error)")
        }
    }
}

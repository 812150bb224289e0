import Foundation

/// The servers that `Tests/Servers/with` has started.
package enum StartedServers {
    /// What is said of them in the environment, as far as a kind of tests needs it; none when the tests run by
    /// themselves.
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

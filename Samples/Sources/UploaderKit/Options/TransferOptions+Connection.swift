import Foundation
import LFSStorage

extension TransferOptions {
    /// How every storage on a server is reached: with the limit of the command line, and with proxies and authorities
    /// as curl's users name them in the environment.
    var connection: ConnectionOptions {
        let environment = ProcessInfo.processInfo.environment
        var connection = ConnectionOptions()
        connection.uploadLimit = limitRate.map { Int($0.bytes) }
        connection.downloadLimit = connection.uploadLimit
        connection.certificateAuthorities = environment["CURL_CA_BUNDLE"] ?? environment["SSL_CERT_FILE"]
        connection.usesProxyFromEnvironment = true
        return connection
    }
}

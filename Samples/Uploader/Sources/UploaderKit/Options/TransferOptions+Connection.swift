import CommandLineOptions
import Foundation
import LFSStorage

extension TransferOptions {
    /// The connection options for every storage on a server, with the rate limit of the command line and the proxies
    /// from curl's environment variables.
    ///
    /// - Throws: ``UploaderError`` for a file of the options that cannot be read.
    var connection: ConnectionOptions {
        get throws {
            var connection = try http.connection
            connection.uploadLimit = limitRate.map { Int($0.bytes) }
            connection.downloadLimit = connection.uploadLimit
            connection.usesProxyFromEnvironment = true
            return connection
        }
    }
}

public import Foundation
import LFSHTTP
public import LFSStorage

extension AzureStorage {
    /// Creates the storage of a URL, with the credentials of the environment. If the URL names no server, the
    /// connection string of the environment does.
    ///
    /// - Parameters:
    ///   - url: the URL of the container.
    ///   - options: the options. Settings in the URL override them.
    ///   - environment: the variables. The default is the environment of the process.
    /// - Throws: `StorageError.Code.invalidRequest` for an invalid URL, and `unauthorized` for an invalid connection
    ///   string.
    public convenience init(
        _ url: AzureURL, options: AzureOptions = AzureOptions(),
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(StorageError) {
        let server = try url.server(environment: environment)
        var options = options
        if let tier = url.accessTier { options.accessTier = tier }
        // A user who writes http in the URL wants it. An endpoint from the environment may use http for this machine
        // only.
        let isOnThisMachine = if let origin = try? HTTPOrigin(server) { origin.isOnThisMachine } else { false }
        if server.scheme == "http", url.endpoint != nil || isOnThisMachine { options.allowsPlainHTTP = true }
        try self.init(
            account: url.account, container: url.container, prefix: url.prefix, endpoint: server,
            credentials: .environment(AzureEnvironment(variables: environment)), options: options)
    }
}

extension AzureURL {
    /// Returns the URL of the account's blob service. It is the endpoint of this URL, or of the environment's
    /// connection string if it is for this account, or Azure's public endpoint.
    ///
    /// - Throws: `StorageError.Code.unauthorized` for an invalid connection string.
    public func server(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(StorageError) -> URL {
        if let endpoint { return endpoint }
        let variables = AzureEnvironment(variables: environment)
        if let text = variables["AZURE_STORAGE_CONNECTION_STRING"] {
            let string = try ConnectionString(text)
            if string.account == account, let found = string.endpoint { return found }
        }
        return AzurePlace.azure(account)
    }
}

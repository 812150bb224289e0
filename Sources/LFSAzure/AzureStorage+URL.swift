public import Foundation
import LFSHTTP
public import LFSStorage

extension AzureStorage {
    /// The container of a URL, with the credentials of the environment, and with the server of its connection string
    /// where the URL names none.
    ///
    /// - Parameters:
    ///   - url: where the container is.
    ///   - options: what the URL says goes before them.
    ///   - environment: the variables; those of the process unless others are given.
    /// - Throws: `StorageError.Code.invalidRequest` for a URL that cannot be one, `unauthorized` for a connection
    ///   string that is none.
    public convenience init(
        _ url: AzureURL, options: AzureOptions = AzureOptions(),
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(StorageError) {
        let server = try url.server(environment: environment)
        var options = options
        if let tier = url.accessTier { options.accessTier = tier }
        // Whoever writes http out has decided so; from the environment it is taken for this machine only.
        let isOnThisMachine = if let origin = try? HTTPOrigin(server) { origin.isOnThisMachine } else { false }
        if server.scheme == "http", url.endpoint != nil || isOnThisMachine { options.allowsPlainHTTP = true }
        try self.init(
            account: url.account, container: url.container, prefix: url.prefix, endpoint: server,
            credentials: .environment(AzureEnvironment(variables: environment)), options: options)
    }
}

extension AzureURL {
    /// The URL of the account's blob service: what this URL says, or else the connection string of the environment, if
    /// it is for this account, or else Azure's own.
    ///
    /// - Throws: `StorageError.Code.unauthorized` for a connection string that is none.
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

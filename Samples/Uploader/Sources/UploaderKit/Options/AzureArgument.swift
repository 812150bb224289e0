import ArgumentParser
import CommandLineOptions
import Foundation
import LFSAzure
import LFSStorage

/// An Azure container on the command line.
package struct AzureArgument: Sendable {
    let url: AzureURL

    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    init(parsing text: String) throws {
        url = try validating { () throws(StorageError) in try AzureURL(parsing: text) }
    }

    /// Returns the location of the container, with the server from the environment.
    func location() throws -> StorageLocation {
        StorageLocation(
            server: try url.server().appending(path: url.container).appending(path: url.prefix), scheme: "azure")
    }

    /// Opens the container with the credentials of the environment.
    func open(_ transfer: TransferOptions) async throws -> any RemoteStorage {
        var options = AzureOptions()
        options.partSize = transfer.partSize?.bytes
        if let size = transfer.partSize?.bytes { options.multipartThreshold = size }
        options.connection = try transfer.connection
        let storage = try AzureStorage(url, options: options)
        // Without credentials, each file would fail separately.
        try await storage.requireCredentials()
        if transfer.createStorage { try await storage.createIfMissing() }
        return storage
    }
}

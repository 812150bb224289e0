import ArgumentParser
import LFSStorage
import LFSWebDAV

/// A folder on a WebDAV server on the command line.
package struct WebDAVArgument: Sendable {
    let url: WebDAVURL

    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    init(parsing text: String) throws {
        url = try validating { () throws(StorageError) in try WebDAVURL(parsing: text) }
    }

    /// The location of the folder.
    var location: StorageLocation { StorageLocation(server: url.folder, scheme: "webdav") }

    /// Opens the folder with the credentials of the environment.
    func open(_ transfer: TransferOptions) async throws -> any RemoteStorage {
        var options = WebDAVOptions()
        options.connection = try transfer.connection
        let storage = try WebDAVStorage(url, options: options)
        // Without credentials, each file would fail separately.
        try await storage.requireCredentials()
        if transfer.createStorage { try await storage.createIfMissing() }
        return storage
    }
}

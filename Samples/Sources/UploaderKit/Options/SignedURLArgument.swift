import ArgumentParser
import LFSSignedURL
import LFSStorage

/// A signing server as it is written on the command line.
package struct SignedURLArgument: Sendable {
    let url: SigningServerURL

    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    init(parsing text: String) throws {
        url = try validating { () throws(StorageError) in try SigningServerURL(parsing: text) }
    }

    /// Where the server is.
    var location: StorageLocation { StorageLocation(server: url.server, scheme: "signed") }

    /// Opens the store with the token of the environment.
    func open(_ transfer: TransferOptions) async throws -> any RemoteStorage {
        var options = SignedURLOptions()
        options.connection = transfer.connection
        let storage = try SignedURLStorage(url, options: options)
        // Without one every single file would fail, each for itself.
        try await storage.requireToken()
        return storage
    }
}

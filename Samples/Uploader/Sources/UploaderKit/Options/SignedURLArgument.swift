import ArgumentParser
import LFSSignedURL
import LFSStorage

/// A signing server on the command line.
package struct SignedURLArgument: Sendable {
    let url: SigningServerURL

    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    init(parsing text: String) throws {
        url = try validating { () throws(StorageError) in try SigningServerURL(parsing: text) }
    }

    /// The location of the server.
    var location: StorageLocation { StorageLocation(server: url.server, scheme: "signed") }

    /// Opens the store with the token of the environment.
    func open(_ transfer: TransferOptions) async throws -> any RemoteStorage {
        var options = SignedURLOptions()
        options.connection = try transfer.connection
        let storage = try SignedURLStorage(url, options: options)
        // Without a token, each file would fail separately.
        try await storage.requireToken()
        return storage
    }
}

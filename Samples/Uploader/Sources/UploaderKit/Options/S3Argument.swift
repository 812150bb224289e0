import ArgumentParser
import CommandLineOptions
import LFSS3
import LFSStorage

/// A bucket on the command line.
package struct S3Argument: Sendable {
    let url: S3URL

    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    init(parsing text: String) throws { url = try validating { () throws(StorageError) in try S3URL(parsing: text) } }

    /// Returns the location of the bucket, with the endpoint from the environment or the profile.
    func location() throws -> StorageLocation {
        let environment = try S3Environment.resolve(profile: url.profile)
        return StorageLocation(
            bucket: url.bucket, prefix: url.prefix, endpoint: url.endpoint ?? environment.endpoint,
            region: url.region ?? environment.region)
    }

    /// Opens the bucket with the settings of the command line, the environment and the profile, in this order.
    func open(_ transfer: TransferOptions) async throws -> any RemoteStorage {
        var options = S3Options()
        options.partSize = transfer.partSize?.bytes
        if let size = transfer.partSize?.bytes { options.multipartThreshold = size }
        options.connection = try transfer.connection
        // The AWS tools' environment variable and configuration file set the authorities.
        options.certificateAuthorities = nil
        let storage = try S3Storage(url, options: options)
        // Without keys, each file would fail separately.
        try await storage.requireCredentials()
        if transfer.createStorage { try await storage.createIfMissing() }
        return storage
    }
}

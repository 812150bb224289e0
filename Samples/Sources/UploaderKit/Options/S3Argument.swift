import ArgumentParser
import LFSS3
import LFSStorage

/// A bucket as it is written on the command line.
package struct S3Argument: Sendable {
    let url: S3URL

    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    init(parsing text: String) throws { url = try validating { () throws(StorageError) in try S3URL(parsing: text) } }

    /// Where the bucket is, with the endpoint that the environment or the profile says.
    func location() throws -> StorageLocation {
        let environment = try S3Environment.resolve(profile: url.profile)
        return StorageLocation(
            bucket: url.bucket, prefix: url.prefix, endpoint: url.endpoint ?? environment.endpoint,
            region: url.region ?? environment.region)
    }

    /// Opens the bucket with what the command line, the environment and the profile say, in this order.
    func open(_ transfer: TransferOptions) async throws -> any RemoteStorage {
        var options = S3Options()
        options.partSize = transfer.partSize?.bytes
        if let size = transfer.partSize?.bytes { options.multipartThreshold = size }
        options.connection = transfer.connection
        // The AWS tools' own variable and file name them here.
        options.certificateAuthorities = nil
        let storage = try S3Storage(url, options: options)
        // Without keys every single file would fail, each for itself.
        try await storage.requireCredentials()
        return storage
    }
}

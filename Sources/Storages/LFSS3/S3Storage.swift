public import Foundation
import LFSHTTP
import LFSHTTPStorage
public import LFSStorage
import LFSSystem

/// A storage in a bucket of Amazon S3 or of a compatible server.
///
/// Uploads carry their SHA-256 in the signature and a checksum that the server compares. Large files are uploaded in
/// concurrent parts and resumed after an interruption. An upload succeeds only when the server confirms the object by a
/// checksum, or at least by its size. New objects get the access rules of the bucket.
///
/// Source: Amazon S3 API reference, version 2006-03-01. ``S3Provider`` describes the differences of other servers.
public final class S3Storage: TemporaryURLStorage, ThreadedStorage {
    /// The capabilities of this storage.
    public let capabilities: StorageCapabilities
    let client: S3Client
    let provider: S3Provider
    let options: S3Options
    private let permits: AsyncSemaphore
    private let transport: any HTTPTransport
    package var executor: (any TaskExecutor)? { transport.executor }

    /// Creates a storage for a bucket or a prefix in it. This initializer makes no network requests.
    ///
    /// - Parameters:
    ///   - bucket: the name of the bucket, which must exist.
    ///   - prefix: the prefix of every key. A slash separates them.
    ///   - region: the region. nil uses `us-east-1`, and `auto` for Google. If the server names another region, the
    ///     storage uses that one.
    ///   - endpoint: the URL of the server. nil uses Amazon's endpoint of the region. The options must allow
    ///     `http` to other machines.
    ///   - addressing: the position of the bucket's name, in the host or in the path.
    ///   - credentials: asked before the first request, and again before the credentials expire.
    ///   - options: the upload and connection settings.
    /// - Throws: `StorageError.Code.invalidRequest` for an invalid name or URL.
    public convenience init(
        bucket: String, prefix: String = "", region: String? = nil, endpoint: URL? = nil,
        addressing: S3Addressing = .automatic, credentials: S3CredentialsProvider = .automatic,
        options: S3Options = S3Options()
    ) throws(StorageError) {
        let location = try S3Location(bucket: bucket, prefix: prefix, endpoint: endpoint, addressing: addressing)
        try self.init(
            location, region: region, credentials: credentials, options: options, clock: SigningClock())
    }

    init(
        _ location: S3Location, region: String?, credentials: S3CredentialsProvider, options: S3Options,
        clock: SigningClock
    ) throws(StorageError) {
        try S3Options.check(region: region)
        try options.check()
        let transport = try options.connection.transport(options.transport)
        let host = try location.host()
        let provider = options.provider ?? S3Provider.detect(endpoint: host)
        client = try S3Client(
            location, region: region, dialect: provider.dialect, transport: transport,
            credentials: CredentialsCache { try await credentials.credentials() }, clock: clock)
        try options.connection.check(client.place.origin, type: "S3Options")
        self.options = options
        self.transport = transport
        self.provider = provider
        permits = AsyncSemaphore(options.maxConcurrentParts)
        let largest = Int64(provider.supportsMultipart ? provider.maximumPartCount : 1) * (5 << 30)
        capabilities = StorageCapabilities(
            kind: "s3", location: location.text,
            proof: provider.keepsChecksums || provider.entityTagIsMD5 ? .checksum : .byteCount,
            maximumByteCount: min(largest, 5 << 40))
    }

    /// Cancels all running requests and closes the connections. This also happens when the last reference is released.
    public func shutdown() async { await transport.shutdown() }

    /// Requests the credentials now, so that missing ones are reported before the first upload. It does not contact the
    /// server.
    ///
    /// - Throws: `StorageError.Code.unauthorized`, with the missing setting.
    public func requireCredentials() async throws {
        try await translatingFailures(nil) { try await client.requireCredentials() }
    }

    /// Uploads the source's bytes. Files from ``S3Options/multipartThreshold`` on are uploaded in parts.
    ///
    /// - Throws: the errors of `RemoteStorage.upload(_:to:session:)`.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try await translatingFailures(key) {
            guard isInParts(source) else {
                return try await SinglePut(client: client, provider: provider, options: options, key: key)
                    .run(source, session: session)
            }
            return try await multipartUpload(source, key: key, session: session).run()
        }
    }

    func isInParts(_ source: UploadSource) -> Bool {
        source.byteCount >= max(options.multipartThreshold, 1) && provider.supportsMultipart
    }

    func multipartUpload(_ source: UploadSource, key: ObjectKey, session: UploadSession) -> MultipartUpload {
        MultipartUpload(
            client: client, provider: provider, options: options, permits: permits, key: key, source: source,
            session: session)
    }

    /// Downloads an object or a range of it.
    ///
    /// - Throws: the errors of `RemoteStorage.download(_:into:)`.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try await translatingFailures(request.key) { try await ObjectDownload(client: client, request).run(sink) }
    }

    /// Describes an object.
    ///
    /// - Throws: the errors of `RemoteStorage.head(_:)`.
    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        try await translatingFailures(key) { try await client.described(key).remoteObject(key, at: client.place) }
    }

    /// Deletes an object, and the parts of an abandoned multipart upload.
    ///
    /// - Throws: the errors of `RemoteStorage.delete(_:abandoning:)`.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try await translatingFailures(key) {
            if let uploadID = checkpoint.flatMap(MultipartCheckpoint.init)?.uploadID {
                try await client.abort(key, uploadID: uploadID)
            }
            try await client.delete(key)
        }
    }

    /// Creates the bucket in the region of the storage, with the defaults of the account, if it does not exist. LFS
    /// never creates a bucket without this call.
    ///
    /// - Returns: true if the bucket was created.
    /// - Throws: `StorageError.Code.misconfigured` if another account has a bucket with this name, and `forbidden` if
    ///   the credentials may not list or create it.
    @discardableResult public func createIfMissing() async throws -> Bool {
        try await translatingFailures(nil) { try await client.createBucketIfMissing() }
    }

    /// Returns a URL with which anyone can download an object for 1 second to 7 days, but no longer than the
    /// credentials are valid. The URL is a secret: do not store or log it.
    ///
    /// A browser saves the file instead of showing it (`response-content-disposition=attachment`). Otherwise an HTML
    /// page among the objects would run with the origin of the bucket. The URL still works as the source of an image.
    ///
    /// - Throws: `StorageError.Code.invalidRequest` for another time span, and `unauthorized` without credentials.
    public func downloadURL(for key: ObjectKey, expires: Duration) async throws -> URL {
        try await translatingFailures(key) {
            try await client.presign(
                .get, key: key, query: [("response-content-disposition", "attachment")], expires: expires)
        }
    }

    func translatingFailures<Result>(_ key: ObjectKey?, _ body: () async throws -> Result) async throws -> Result {
        do {
            return try await StorageError.translating(key, body)
        } catch let failure as S3Failure {
            throw failure.storageError
        }
    }
}

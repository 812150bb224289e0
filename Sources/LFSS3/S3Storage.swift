public import Foundation
import LFSHTTP
import LFSHTTPStorage
public import LFSStorage
import LFSSystem

/// Objects in a bucket of Amazon S3, or of another server that speaks its language.
///
/// Files go out with their SHA-256 in the signature and as a checksum that the server compares; large ones in parts,
/// several at once, which go on after an interruption. An upload counts when the server's own word on the object
/// agrees. New objects are as private as the bucket makes them.
///
/// Source: Amazon S3 API reference, version 2006-03-01. ``S3Provider`` says what is known of other servers.
public final class S3Storage: RemoteStorage {
    /// What it can do.
    public let capabilities: StorageCapabilities
    let client: S3Client
    let provider: S3Provider
    let options: S3Options
    private let permits: Permits
    private let transport: any HTTPTransport

    /// A bucket, or a part of one. Nothing is asked of the network here.
    ///
    /// - Parameters:
    ///   - bucket: the name of the bucket, which has to be there.
    ///   - prefix: stands before every key, with a slash between them.
    ///   - region: nil for `us-east-1`, with Google for `auto`. The right one is learned when the server names another.
    ///   - endpoint: the URL of the server; nil for Amazon's in that region. `http` has to be allowed by the options.
    ///   - addressing: whether the bucket stands in the host's name or in the path.
    ///   - credentials: asked for before the first request, and again before they end.
    ///   - options: what is special about the server and the way to it.
    /// - Throws: `StorageError.Code.invalidRequest` for a name or a URL that cannot be one.
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
        let transport = options.transport ?? DefaultTransport.make(HTTPOptions(options.connection))
        let host = try location.host()
        let provider = options.provider ?? S3Provider.detect(endpoint: host)
        client = try S3Client(
            location, region: region, dialect: provider.dialect, transport: transport,
            credentials: CredentialsCache { try await credentials.credentials() }, clock: clock)
        try options.connection.check(client.place.origin, "S3Options")
        self.options = options
        self.transport = transport
        self.provider = provider
        permits = Permits(options.maxConcurrentParts)
        let largest = Int64(provider.supportsMultipart ? provider.maximumPartCount : 1) * (5 << 30)
        capabilities = StorageCapabilities(
            kind: "s3", location: location.text,
            proof: provider.keepsChecksums || provider.entityTagIsMD5 ? .checksum : .byteCount,
            maximumByteCount: min(largest, 5 << 40))
    }

    /// Ends what is under way and closes the connections. Without it that happens with the last reference.
    public func shutdown() async { await transport.shutdown() }

    /// Asks for the credentials now, so that missing ones show before the first upload. The server is not asked.
    ///
    /// - Throws: `StorageError.Code.unauthorized`, with what is missing.
    public func requireCredentials() async throws {
        try await translatingFailures(nil) { try await client.requireCredentials() }
    }

    /// Stores the source's bytes, in parts from ``S3Options/multipartThreshold`` on.
    ///
    /// - Throws: as `RemoteStorage` says it of `upload(_:to:session:)`.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try await translatingFailures(key) {
            let isLarge = source.byteCount >= max(options.multipartThreshold, 1) && provider.supportsMultipart
            guard isLarge else {
                return try await SinglePut(client: client, provider: provider, options: options, key: key)
                    .run(source, session)
            }
            return try await MultipartUpload(
                client: client, provider: provider, options: options, permits: permits, key: key, source: source,
                session: session
            ).run()
        }
    }

    /// Fetches an object or a range of it.
    ///
    /// - Throws: as `RemoteStorage` says it of `download(_:into:)`.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try await translatingFailures(request.key) { try await ObjectDownload(client: client, request).run(sink) }
    }

    /// Describes an object.
    ///
    /// - Throws: as `RemoteStorage` says it of `head(_:)`.
    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        try await translatingFailures(key) { try await client.described(key).remoteObject(key, at: client.place) }
    }

    /// Removes an object, and the parts of an upload in parts that was given up.
    ///
    /// - Throws: as `RemoteStorage` says it of `delete(_:abandoning:)`.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try await translatingFailures(key) {
            if let uploadID = checkpoint.flatMap(MultipartCheckpoint.init)?.uploadID {
                try await client.abort(key, uploadID)
            }
            try await client.delete(key)
        }
    }

    /// A URL that anybody may download an object with, for a while: 1 second to 7 days, and no longer than the
    /// credentials live. It is a secret: do not store or log it.
    ///
    /// A browser saves what it gets and does not show it (`response-content-disposition=attachment`): a page among the
    /// objects would run as one of the bucket's own. As the source of an image it works all the same.
    ///
    /// - Throws: `StorageError.Code.invalidRequest` for another time span, and `unauthorized` without credentials.
    public func downloadURL(for key: ObjectKey, expires: Duration) async throws -> URL {
        try await translatingFailures(key) {
            try await client.presign(
                .get, key, query: [("response-content-disposition", "attachment")], expires: expires)
        }
    }

    /// A URL that anybody may upload an object with, for a while; see ``downloadURL(for:expires:)``.
    ///
    /// - Throws: as ``downloadURL(for:expires:)``.
    public func uploadURL(for key: ObjectKey, expires: Duration) async throws -> URL {
        try await translatingFailures(key) { try await client.presign(.put, key, expires: expires) }
    }

    func translatingFailures<Result>(_ key: ObjectKey?, _ body: () async throws -> Result) async throws -> Result {
        do {
            return try await StorageError.translating(key, body)
        } catch let failure as S3Failure {
            throw failure.storageError
        }
    }
}

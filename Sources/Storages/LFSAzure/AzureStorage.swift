public import Foundation
import LFSHTTP
import LFSHTTPStorage
public import LFSStorage
import LFSSystem

/// A storage in a container of Azure Blob Storage. It uses block blobs in the account's default tier.
///
/// Uploads carry a CRC-64 that the service compares. Large files are uploaded in concurrent blocks and resumed after an
/// interruption. An upload succeeds only when the service confirms the bytes.
///
/// Source: "Blob service REST API".
public final class AzureStorage: TemporaryURLStorage, ThreadedStorage {
    /// The capabilities of this storage.
    public let capabilities: StorageCapabilities
    let client: AzureClient
    let options: AzureOptions
    /// The keys that sign requests for other clients if the credentials are tokens.
    let delegationKeys: CredentialsCache<DelegationKey>
    private let permits: AsyncSemaphore
    private let transport: any HTTPTransport
    package var executor: (any TaskExecutor)? { transport.executor }
    private let tokenTransport: any HTTPTransport
    private let identityTransport: any HTTPTransport

    /// Creates a storage for a container or a prefix in it. This initializer makes no network requests.
    ///
    /// - Parameters:
    ///   - account: the name of the storage account.
    ///   - container: the name of the container, which must exist.
    ///   - prefix: the prefix of every key. A slash separates them.
    ///   - endpoint: the URL of the account's blob service. nil uses Azure's public cloud. The URL of an emulator has
    ///     the account as its path. The options must allow `http` to other machines.
    ///   - credentials: asked before the first request, again before the credentials expire, and when they are refused.
    ///   - options: the upload and connection settings.
    /// - Throws: `StorageError.Code.invalidRequest` for an invalid name or URL.
    public convenience init(
        account: String, container: String, prefix: String = "", endpoint: URL? = nil,
        credentials: AzureCredentials = .environment, options: AzureOptions = AzureOptions()
    ) throws(StorageError) {
        let place = try AzurePlace(account: account, container: container, prefix: prefix, endpoint: endpoint)
        try self.init(place, credentials: credentials, options: options, clock: SigningClock())
    }

    init(
        _ place: AzurePlace, credentials: AzureCredentials, options: AzureOptions, clock: SigningClock
    ) throws(StorageError) {
        try options.check()
        try options.connection.check(place.origin, type: "AzureOptions")
        self.options = options
        transport = try options.connection.transport(options.transport)
        tokenTransport = options.transport ?? DefaultTransport.make(Self.tokenOptions(options.connection))
        identityTransport = options.transport ?? DefaultTransport.make(Self.identityOptions(options.connection))
        let tokens = TokenSource(
            transport: tokenTransport, identityTransport: identityTransport,
            allowsPlainHTTP: options.connection.allowsPlainHTTP)
        let context = LoginContext(account: place.account, tokens: tokens)
        client = AzureClient(
            place, version: options.serviceVersion, transport: transport,
            logins: CredentialsCache { try await credentials.login(context) }, clock: clock)
        delegationKeys = CredentialsCache({ [client] in try await client.delegationKey() }, now: { clock.now })
        permits = AsyncSemaphore(options.maxConcurrentParts)
        capabilities = StorageCapabilities(
            kind: "azure", location: place.location, proof: .checksum,
            maximumByteCount: Int64(BlockUpload.limits.maximumCount) * BlockUpload.limits.maximumSize)
    }

    /// Returns the options for token requests. Their few bytes are not subject to rate limits. ``TokenSource`` checks
    /// the server and the encryption itself.
    private static func tokenOptions(_ connection: ConnectionOptions) -> HTTPOptions {
        var options = HTTPOptions(connection)
        options.allowsPlainHTTP = true
        options.sendLimit = nil
        options.receiveLimit = nil
        return options
    }

    /// Returns the options for the identity service, which only speaks http on the machine itself. A proxy would see
    /// the token, and would return the token of its own machine.
    private static func identityOptions(_ connection: ConnectionOptions) -> HTTPOptions {
        var connection = connection
        connection.usesProxyFromEnvironment = false
        return tokenOptions(connection)
    }

    /// Cancels all running requests and closes the connections. This also happens when the last reference is released.
    public func shutdown() async {
        await transport.shutdown()
        await tokenTransport.shutdown()
        await identityTransport.shutdown()
    }

    /// Requests the credentials now, so that missing ones are reported before the first upload. It does not contact the
    /// storage.
    ///
    /// - Throws: `StorageError.Code.unauthorized`, with the missing setting.
    public func requireCredentials() async throws {
        try await translatingFailures(nil) { try await client.requireCredentials() }
    }

    /// Creates the container, without public access, if it does not exist. LFS never creates a container without this
    /// call.
    ///
    /// - Returns: true if the container was created.
    /// - Throws: `StorageError.Code.forbidden` if the credentials may not create it.
    @discardableResult public func createIfMissing() async throws -> Bool {
        try await translatingFailures(nil) {
            // "Create Container" of the Blob service REST API. The service requires a length even of an empty body.
            var request = AzureRequest(.put, query: [("restype", "container")])
            request.body = .bytes([])
            do {
                _ = try await client.send(request)
                return true
            } catch let failure as AzureFailure where failure.code == "ContainerAlreadyExists" {
                return false
            }
        }
    }

    /// Uploads the source's bytes. Files from ``AzureOptions/multipartThreshold`` on are uploaded in blocks.
    ///
    /// - Throws: the errors of `RemoteStorage.upload(_:to:session:)`.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try await translatingFailures(key) {
            let fields = BlobFields(accessTier: options.accessTier)
            guard source.byteCount >= max(options.multipartThreshold, 1) else {
                return try await BlobPut(client: client, fields: fields, key: key).run(source, session: session)
            }
            let plan = try PartPlan(
                byteCount: source.byteCount, partSize: options.partSize, BlockUpload.limits)
            return try await BlockUpload(
                client: client, fields: fields, permits: permits, key: key, source: source, session: session,
                plan: plan, earlier: session.checkpoint.flatMap(BlockCheckpoint.init)
            ).run()
        }
    }

    /// Downloads an object or a range of it.
    ///
    /// - Throws: the errors of `RemoteStorage.download(_:into:)`.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try await translatingFailures(request.key) {
            try await BlobDownload(client: client, request: request).run(sink)
        }
    }

    /// Describes an object.
    ///
    /// - Throws: the errors of `RemoteStorage.head(_:)`.
    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        try await translatingFailures(key) { try await client.described(key).remoteObject(key, at: client.place) }
    }

    /// Deletes an object, and the blocks of an abandoned upload.
    ///
    /// - Throws: the errors of `RemoteStorage.delete(_:abandoning:)`.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try await translatingFailures(key) {
            try await client.delete(key)
            if checkpoint.flatMap(BlockCheckpoint.init) != nil { try await client.abandonBlocks(of: key) }
        }
    }

    func translatingFailures<Result>(_ key: ObjectKey?, _ body: () async throws -> Result) async throws -> Result {
        do {
            return try await StorageError.translating(key, body)
        } catch let failure as AzureFailure {
            throw failure.storageError
        }
    }
}

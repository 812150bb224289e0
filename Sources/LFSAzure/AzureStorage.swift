public import Foundation
import LFSHTTP
import LFSHTTPStorage
public import LFSStorage
import LFSSystem

/// Objects in a container of Azure Blob Storage: block blobs, in the tier that the account has them in.
///
/// Files go out with their CRC-64, which the service compares; large ones in blocks, several at once, which go on after
/// an interruption. An upload counts when the service's own word on the bytes agrees.
///
/// Source: "Blob service REST API".
public final class AzureStorage: RemoteStorage {
    /// What it can do.
    public let capabilities: StorageCapabilities
    let client: AzureClient
    let options: AzureOptions
    /// What requests for others are signed with where the credentials are tokens.
    let delegationKeys: CredentialsCache<DelegationKey>
    private let permits: Permits
    private let transport: any HTTPTransport
    private let tokenTransport: any HTTPTransport
    private let identityTransport: any HTTPTransport

    /// A container, or a part of one. Nothing is asked of the network here.
    ///
    /// - Parameters:
    ///   - account: the name of the storage account.
    ///   - container: its name; it has to be there.
    ///   - prefix: stands before every key, with a slash between them.
    ///   - endpoint: the URL of the account's blob service; nil for Azure's public cloud. An emulator's has the account
    ///     as its path. `http` has to be allowed by the options.
    ///   - credentials: asked for before the first request, again before they end, and when they are refused.
    ///   - options: what is special about the account and the way to it.
    /// - Throws: `StorageError.Code.invalidRequest` for a name or a URL that cannot be one.
    public convenience init(
        account: String, container: String, prefix: String = "", endpoint: URL? = nil,
        credentials: AzureCredentials = .environment, options: AzureOptions = AzureOptions()
    ) throws(StorageError) {
        let place = try AzurePlace(account: account, container: container, prefix: prefix, endpoint: endpoint)
        try self.init(place, credentials, options, SigningClock())
    }

    /// A container of the account that a connection string names, with the credentials in it.
    ///
    /// - Parameters:
    ///   - connectionString: as the portal shows it.
    ///   - container: its name; it has to be there.
    ///   - prefix: stands before every key, with a slash between them.
    ///   - options: what is special about the account and the way to it.
    /// - Throws: `StorageError.Code.unauthorized` for a string that is none, `invalidRequest` as above. Nothing of the
    ///   string is repeated.
    public convenience init(
        connectionString: String, container: String, prefix: String = "", options: AzureOptions = AzureOptions()
    ) throws(StorageError) {
        let string = try ConnectionString(connectionString)
        try self.init(
            account: string.account, container: container, prefix: prefix, endpoint: string.endpoint,
            credentials: .connectionString(connectionString), options: options)
    }

    init(
        _ place: AzurePlace, _ credentials: AzureCredentials, _ options: AzureOptions, _ clock: SigningClock
    ) throws(StorageError) {
        try options.check()
        try options.connection.check(place.origin, "AzureOptions")
        self.options = options
        transport = options.transport ?? DefaultTransport.make(HTTPOptions(options.connection))
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
        permits = Permits(options.maxConcurrentParts)
        capabilities = StorageCapabilities(
            kind: "azure", location: place.location, proof: .checksum,
            maximumByteCount: Int64(BlockUpload.limits.maximumCount) * BlockUpload.limits.maximumSize)
    }

    /// No limit is for the few bytes of a token. ``TokenSource`` looks at whom it asks, and how.
    private static func tokenOptions(_ connection: ConnectionOptions) -> HTTPOptions {
        var options = HTTPOptions(connection)
        options.allowsPlainHTTP = true
        (options.sendLimit, options.receiveLimit) = (nil, nil)
        return options
    }

    /// The service that gives a machine its identity speaks http only, on the machine itself: a proxy would see the
    /// token, and answer for its own machine.
    private static func identityOptions(_ connection: ConnectionOptions) -> HTTPOptions {
        var connection = connection
        connection.usesProxyFromEnvironment = false
        return tokenOptions(connection)
    }

    /// Ends what is under way and closes the connections. Without it that happens with the last reference.
    public func shutdown() async {
        await transport.shutdown()
        await tokenTransport.shutdown()
        await identityTransport.shutdown()
    }

    /// Asks for the credentials now, so that missing ones show before the first upload. The storage itself is not
    /// asked.
    ///
    /// - Throws: `StorageError.Code.unauthorized`, with what is missing.
    public func requireCredentials() async throws {
        try await translatingFailures(nil) { try await client.requireCredentials() }
    }

    /// Stores the source's bytes, in blocks from ``AzureOptions/multipartThreshold`` on.
    ///
    /// - Throws: as `RemoteStorage` says it of `upload(_:to:session:)`.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try await translatingFailures(key) {
            let fields = BlobFields(accessTier: options.accessTier)
            guard source.byteCount >= max(options.multipartThreshold, 1) else {
                return try await BlobPut(client: client, fields: fields, key: key).run(source, session)
            }
            let plan = try PartPlan(
                byteCount: source.byteCount, partSize: options.partSize, BlockUpload.limits)
            return try await BlockUpload(
                client: client, fields: fields, permits: permits, key: key, source: source, session: session, plan: plan
            ).run()
        }
    }

    /// Fetches an object or a range of it.
    ///
    /// - Throws: as `RemoteStorage` says it of `download(_:into:)`.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try await translatingFailures(request.key) {
            try await BlobDownload(client: client, request: request).run(sink)
        }
    }

    /// Describes an object.
    ///
    /// - Throws: as `RemoteStorage` says it of `head(_:)`.
    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        try await translatingFailures(key) { try await client.described(key).remoteObject(key, at: client.place) }
    }

    /// Removes an object, and the blocks of an upload that was given up.
    ///
    /// - Throws: as `RemoteStorage` says it of `delete(_:abandoning:)`.
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

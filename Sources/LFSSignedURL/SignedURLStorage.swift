public import Foundation
import LFSHTTP
import LFSHTTPStorage
public import LFSStorage
import LFSSystem
import LFSWire

/// Objects in a store whose secrets the app does not have: its own server signs each request.
///
/// The bytes go between the device and the store. The server is asked for a URL that allows one request for some
/// minutes, and does everything else itself: describing, listing, removing, putting parts together. What store it is,
/// only the server knows.
///
/// Source: the protocol of signed URLs, in the documentation of `LFSWire`.
public final class SignedURLStorage: RemoteStorage {
    /// What it can do.
    public let capabilities: StorageCapabilities
    let client: SigningClient
    let uploads: UploadActions
    let downloads: AnswerCache<ObjectKey, SigningAction>
    private let transport: any HTTPTransport
    private let permits: Permits

    /// A store behind a signing server. Nothing is asked of the network here.
    ///
    /// - Parameters:
    ///   - server: the server's base URL, such as `https://app.example/lfs`. `http` has to be allowed by the options.
    ///   - authorization: who asks.
    ///   - options: how it uploads and connects.
    /// - Throws: `StorageError.Code.invalidRequest` for a URL that cannot be one.
    public init(
        server: URL, authorization: SigningAuthorization, options: SignedURLOptions = SignedURLOptions()
    ) throws(StorageError) {
        let base = try Endpoint(server)
        try options.connection.check(base.origin, "SignedURLOptions")
        transport = options.transport ?? DefaultTransport.make(HTTPOptions(options.connection))
        client = SigningClient(base, transport: transport, authorization: authorization, clock: options.clock)
        uploads = UploadActions(client, signsAhead: options.signsAhead)
        downloads = AnswerCache(capacity: 1_024, clock: Elapsed(options.clock))
        permits = Permits(options.maxConcurrentParts)
        capabilities = StorageCapabilities(
            kind: "signed", location: "signed:\(base.origin.authority)\(base.path)", proof: .checksum)
    }

    /// Ends what is under way and closes the connections. Without it that happens with the last reference.
    public func shutdown() async { await transport.shutdown() }

    /// Asks the app for its token now, so that a missing one shows before the first upload. The server is not asked.
    ///
    /// - Throws: `StorageError.Code.unauthorized`, with what is missing.
    public func requireToken() async throws {
        try await translatingFailures(nil) { try await client.requireToken() }
    }

    /// Stores the source's bytes.
    ///
    /// - Throws: as `RemoteStorage` says it of `upload(_:to:session:)`.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try await translatingFailures(key) {
            try await FileUpload(
                client: client, actions: uploads, permits: permits, key: key, source: source, session: session
            ).run()
        }
    }

    /// Fetches an object or a range of it.
    ///
    /// - Throws: as `RemoteStorage` says it of `download(_:into:)`.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try await translatingFailures(request.key) {
            try await FileDownload(client: client, actions: downloads, request: request).run(sink)
        }
    }

    /// Describes an object.
    ///
    /// - Throws: as `RemoteStorage` says it of `head(_:)`.
    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        try await translatingFailures(key) {
            client.object(key, try await client.ask(.head, SigningObject(key: key.rawValue)).requiredObject(key))
        }
    }

    /// Removes an object, and the parts of an upload that was given up.
    ///
    /// - Throws: as `RemoteStorage` says it of `delete(_:abandoning:)`.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try await translatingFailures(key) {
            var object = SigningObject(key: key.rawValue)
            object.upload = checkpoint.flatMap(PartsCheckpoint.init)?.upload
            do {
                _ = try await client.ask(.delete, object).requireNoError(key)
            } catch let failure as SigningFailure where failure.code == .lostUpload && object.upload != nil {
                // The token is of no use any more, and the object has to go all the same.
                object.upload = nil
                _ = try await client.ask(.delete, object).requireNoError(key)
            }
        }
    }

    /// One page of the objects.
    ///
    /// - Throws: as `RemoteStorage` says it of `list(_:)`.
    public func list(_ request: ListRequest) async throws -> ListPage {
        try await translatingFailures(nil) {
            var object = SigningObject()
            object.prefix = request.prefix
            object.continuation = request.continuation
            object.limit = Int64(min(request.limit, 1_000))
            guard let page = try await client.ask(.list, object).requireNoError(nil).page,
                page.objects.count <= request.limit, page.next == nil || page.next != request.continuation
            else { throw SigningAnswer.nonsense(nil) }
            let objects = page.objects.compactMap { found in
                ObjectKey(listed: found.key).map { client.object($0, found) }
            }
            guard objects.allSatisfy({ $0.key.rawValue.hasPrefix(request.prefix) }) else {
                throw SigningAnswer.nonsense(nil)
            }
            return ListPage(objects: objects, next: page.next)
        }
    }

    private func translatingFailures<Result>(_ key: ObjectKey?, _ body: () async throws -> Result) async throws
        -> Result
    {
        do {
            return try await StorageError.translating(key, body)
        } catch let failure as StoreFailure {
            throw failure.storageError
        } catch let failure as SigningFailure {
            throw failure.storageError
        } catch var error as StorageError {
            // A whole request that was refused is about no object of its own.
            if error.key == nil { error.key = key }
            throw error
        }
    }
}

extension StorageError {
    /// What reading an answer has thrown.
    init(signing error: any Error, _ key: ObjectKey) {
        self = (error as? SigningFailure)?.storageError ?? StorageError(wrapping: error, key: key)
    }
}

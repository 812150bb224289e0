public import Foundation
import LFSHTTP
import LFSHTTPStorage
public import LFSStorage
import LFSSystem
import LFSWire

/// A storage whose secrets the app does not have. The app's own server signs each request.
///
/// The bytes are transferred directly between the device and the store. The server returns a URL that allows one
/// request for some minutes. It performs all other operations itself: it describes, lists and deletes objects, and
/// assembles parts. Only the server knows the kind of store.
///
/// Source: the protocol of signed URLs, in the documentation of `LFSWire`.
public final class SignedURLStorage: TemporaryURLStorage, ThreadedStorage {
    /// The capabilities of this storage.
    public let capabilities: StorageCapabilities
    let client: SigningClient
    let uploads: UploadActions
    let downloads: SignedRequestCache<ObjectKey, SigningAction>
    private let transport: any HTTPTransport
    package var executor: (any TaskExecutor)? { transport.executor }
    let permits: AsyncSemaphore

    /// Creates a storage behind a signing server. This initializer makes no network requests.
    ///
    /// - Parameters:
    ///   - server: the server's base URL, such as `https://app.example/lfs`. The options must allow `http` to
    ///     other machines.
    ///   - authorization: the authorization at the server.
    ///   - options: the upload and connection settings.
    /// - Throws: `StorageError.Code.invalidRequest` for an invalid URL.
    public init(
        server: URL, authorization: SigningAuthorization, options: SignedURLOptions = SignedURLOptions()
    ) throws(StorageError) {
        let base = try Endpoint(server)
        try options.connection.check(base.origin, type: "SignedURLOptions")
        // The URLs that the server signs lead to other servers, which must not get the custom fields.
        transport = try options.connection.transport(options.transport, to: base.origin)
        client = SigningClient(base, transport: transport, authorization: authorization, clock: options.clock)
        uploads = UploadActions(client, signsAhead: options.signsAhead)
        downloads = SignedRequestCache(capacity: 1_024, clock: Elapsed(options.clock))
        permits = AsyncSemaphore(options.maxConcurrentParts)
        capabilities = StorageCapabilities(
            kind: "signed", location: "signed:\(base.origin.authority)\(base.path)", proof: .checksum)
    }

    /// Cancels all running requests and closes the connections. This also happens when the last reference is released.
    public func shutdown() async { await transport.shutdown() }

    /// Requests the app's token now, so that a missing one is reported before the first upload. It does not contact the
    /// server.
    ///
    /// - Throws: `StorageError.Code.unauthorized`, with the missing setting.
    public func requireToken() async throws {
        try await translatingFailures(nil) { try await client.requireToken() }
    }

    /// Uploads the source's bytes.
    ///
    /// - Throws: the errors of `RemoteStorage.upload(_:to:session:)`.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try await translatingFailures(key) {
            try await FileUpload(
                client: client, actions: uploads, permits: permits, key: key, source: source, session: session
            ).run()
        }
    }

    /// Downloads an object or a range of it.
    ///
    /// - Throws: the errors of `RemoteStorage.download(_:into:)`.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try await translatingFailures(request.key) {
            try await SignedDownload(client: client, actions: downloads, request: request).run(sink)
        }
    }

    /// Describes an object.
    ///
    /// - Throws: the errors of `RemoteStorage.head(_:)`.
    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        try await translatingFailures(key) {
            client.object(
                key, answer: try await client.ask(.head, object: SigningObject(key: key.rawValue)).requiredObject(key))
        }
    }

    /// Deletes an object, and the parts of an abandoned upload.
    ///
    /// - Throws: the errors of `RemoteStorage.delete(_:abandoning:)`.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try await translatingFailures(key) {
            var object = SigningObject(key: key.rawValue)
            object.upload = checkpoint.flatMap(PartsCheckpoint.init)?.upload
            do {
                _ = try await client.ask(.delete, object: object).requireNoError(key)
            } catch let failure as SigningFailure where failure.code == .lostUpload && object.upload != nil {
                // The upload token is no longer valid, but the object must be deleted anyway.
                object.upload = nil
                _ = try await client.ask(.delete, object: object).requireNoError(key)
            }
        }
    }

    /// Returns a URL with which anyone can download an object. The signing server decides how long the URL is valid.
    ///
    /// - Parameters:
    ///   - key: the key of the object.
    ///   - expires: the longest time that the caller accepts, from 1 second to 7 days.
    /// - Throws: `StorageError.Code.invalidRequest` for another time, if the server's URLs are valid for longer, or if
    ///   they need header fields, and the errors of `RemoteStorage.head(_:)`.
    public func downloadURL(for key: ObjectKey, expires: Duration) async throws -> URL {
        try await translatingFailures(key) {
            guard (.seconds(1)...(.seconds(604_800))).contains(expires) else {
                throw StorageError(
                    .invalidRequest, message: "A signed URL must be valid for 1 second to 7 days.", key: key)
            }
            let action = try await client.ask(.download, object: SigningObject(key: key.rawValue))
                .requiredAction(.download, key: key)
            _ = try StoreRequest(action, method: .get, requiresTLS: client.base.origin.isSecure, about: key)
            guard .seconds(action.expiresIn) <= expires else {
                throw StorageError(
                    .invalidRequest,
                    message: """
                        The URLs of the signing server are valid for \(action.expiresIn) seconds. Accept this time, or \
                        shorten it on the server.
                        """, key: key)
            }
            guard action.header.isEmpty, let url = URL(string: action.href) else {
                throw StorageError(
                    .invalidRequest, message: "The URLs of the signing server need header fields.", key: key)
            }
            return url
        }
    }

    /// Returns one page of the objects.
    ///
    /// - Throws: the errors of `RemoteStorage.list(_:)`.
    public func list(_ request: ListRequest) async throws -> ListPage {
        try await translatingFailures(nil) {
            var object = SigningObject()
            object.prefix = request.prefix
            object.continuation = request.continuation
            object.limit = Int64(min(request.limit, 1_000))
            guard let page = try await client.ask(.list, object: object).requireNoError(nil).page,
                page.objects.count <= request.limit, page.next == nil || page.next != request.continuation
            else { throw SigningAnswer.nonsense(nil) }
            let objects = page.objects.compactMap { found in
                ObjectKey(listed: found.key).map { client.object($0, answer: found) }
            }
            guard objects.allSatisfy({ $0.key.rawValue.hasPrefix(request.prefix) }) else {
                throw SigningAnswer.nonsense(nil)
            }
            return ListPage(objects: objects, next: page.next)
        }
    }

    func translatingFailures<Result>(_ key: ObjectKey?, _ body: () async throws -> Result) async throws
        -> Result
    {
        do {
            return try await StorageError.translating(key, body)
        } catch let failure as StoreFailure {
            throw failure.storageError
        } catch let failure as SigningFailure {
            throw failure.storageError
        } catch var error as StorageError {
            // The refusal of a whole request names no object.
            if error.key == nil { error.key = key }
            throw error
        }
    }
}

extension StorageError {
    /// Creates the error for a failure while reading an answer.
    init(signing error: any Error, _ key: ObjectKey) {
        self = (error as? SigningFailure)?.storageError ?? StorageError(wrapping: error, key: key)
    }
}

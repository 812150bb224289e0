public import Foundation
import LFSHTTP
import LFSHTTPStorage
public import LFSStorage
import LFSSystem

/// A storage in a folder of a WebDAV server, such as apache, nginx or a private cloud.
///
/// A file is written next to its place, verified, and moved there, so readers only see complete objects. The server
/// reports the size of a file, but no checksum: see ``WebDAVOptions/readsBack``. An interrupted upload starts over,
/// because not all servers support resuming. The folder of the URL must exist: see ``createIfMissing()``.
///
/// Source: RFC 4918. The `Authorization` field follows RFC 7617 and RFC 6750.
public final class WebDAVStorage: RemoteStorage, ThreadedStorage {
    /// The capabilities of this storage.
    public let capabilities: StorageCapabilities
    let client: WebDAVClient
    private let options: WebDAVOptions
    private let transport: any HTTPTransport
    package var executor: (any TaskExecutor)? { transport.executor }
    private let windows = ListingWindows<RemoteObject>(size: 1 << 14, key: \.key)

    /// Creates a storage for a folder. This initializer makes no network requests.
    ///
    /// - Parameters:
    ///   - url: the URL of the folder. The options must allow `http` to other machines.
    ///   - credentials: asked before the first request, and again when the server refuses the credentials.
    ///   - options: the upload and connection settings.
    /// - Throws: `StorageError.Code.invalidRequest` for an invalid URL.
    public init(
        url: URL, credentials: WebDAVCredentials = .environment, options: WebDAVOptions = WebDAVOptions()
    ) throws(StorageError) {
        let place = try WebDAVPlace(url)
        try options.connection.check(place.origin, type: "WebDAVOptions")
        self.options = options
        transport = try options.connection.transport(options.transport)
        client = WebDAVClient(place, transport: transport, credentials: credentials)
        capabilities = StorageCapabilities(
            kind: "webdav", location: place.location, proof: options.readsBack ? .checksum : .byteCount)
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

    /// Uploads the source's bytes.
    ///
    /// - Throws: the errors of `RemoteStorage.upload(_:to:session:)`.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try await translatingFailures(key) {
            try await TemporaryPut(client: client, key: key, readsBack: options.readsBack).run(source, session: session)
        }
    }

    /// Downloads an object or a range of it.
    ///
    /// - Throws: the errors of `RemoteStorage.download(_:into:)`.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try await translatingFailures(request.key) {
            try await WebDAVDownload(client: client, request: request).run(sink)
        }
    }

    /// Describes an object.
    ///
    /// - Throws: the errors of `RemoteStorage.head(_:)`.
    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        try await translatingFailures(key) { try await client.object(key) }
    }

    /// Deletes an object, and the temporary file of an abandoned upload.
    ///
    /// - Throws: the errors of `RemoteStorage.delete(_:abandoning:)`.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try await translatingFailures(key) {
            if let unfinished = checkpoint.flatMap(UnfinishedFile.init) {
                try await client.remove(client.place.path(of: key, unfinished: unfinished.token), of: key)
            }
            try await client.remove(client.place.path(of: key), of: key)
        }
    }

    /// Creates the folder of the URL, if it does not exist. LFS never creates it without this call.
    ///
    /// - Returns: true if the folder was created.
    /// - Throws: `StorageError.Code.misconfigured` if the parent of the folder does not exist, and `forbidden` if the
    ///   user may not create it.
    @discardableResult public func createIfMissing() async throws -> Bool {
        try await translatingFailures(nil) { try await client.makeRoot() }
    }

    /// Returns one page of the objects. It reads one folder per request (`Depth: 1`), because few servers allow more.
    ///
    /// - Throws: the errors of `RemoteStorage.list(_:)`.
    public func list(_ request: ListRequest) async throws -> ListPage {
        try await translatingFailures(nil) {
            if let page = windows.kept(request) { return ListPage(objects: page.items, next: page.next) }
            let whole = windows.whole(request)
            let page = windows.page(request, of: try await CollectionWalk(client: client, request: whole).objects())
            return ListPage(objects: page.items, next: page.next)
        }
    }

    /// Deletes old temporary files of interrupted uploads.
    ///
    /// The transfer queue cleans up after itself. This method removes files that a killed process has left of small
    /// uploads.
    /// - Parameters:
    ///   - prefix: the beginning of the keys, such as a database's namespace with its slash.
    ///   - age: younger files are kept, because another device may still be working on them.
    /// - Returns: the number of deleted files.
    /// - Throws: `StorageError`. Files deleted before the error remain deleted.
    @discardableResult
    public func abandonUploads(below prefix: String, olderThan age: Duration) async throws -> Int {
        try await translatingFailures(nil) {
            try await CollectionWalk(client: client, request: ListRequest(prefix: prefix)).removeUnfinished(
                olderThan: age)
        }
    }

    private func translatingFailures<Result>(_ key: ObjectKey?, _ body: () async throws -> Result) async throws
        -> Result
    {
        do {
            return try await StorageError.translating(key, body)
        } catch let failure as WebDAVFailure {
            throw failure.storageError
        }
    }
}

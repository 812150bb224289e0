public import Foundation
import LFSHTTP
import LFSHTTPStorage
public import LFSStorage
import LFSSystem

/// Objects in a folder of a WebDAV server: apache, nginx, a cloud at home.
///
/// A file is written beside its place, looked at, and moved there, so that a reader sees whole objects only. The server
/// tells how many bytes it has, and no checksum: see ``WebDAVOptions/readsBack``. An upload that was cut begins anew:
/// there is no way to go on that all servers have. The folder of the URL has to be there.
///
/// Source: RFC 4918; `Authorization` as RFC 7617 and RFC 6750 have it.
public final class WebDAVStorage: RemoteStorage {
    /// What it can do.
    public let capabilities: StorageCapabilities
    let client: WebDAVClient
    private let options: WebDAVOptions
    private let transport: any HTTPTransport
    private let windows = ListingWindows<RemoteObject>(size: 1 << 14, key: \.key)

    /// A folder on a server. Nothing is asked of the network here.
    ///
    /// - Parameters:
    ///   - url: of the folder. `http` has to be allowed by the options.
    ///   - credentials: asked for before the first request, and again when the server refuses them.
    ///   - options: what is special about the server and the way to it.
    /// - Throws: `StorageError.Code.invalidRequest` for a URL that cannot be one.
    public init(
        url: URL, credentials: WebDAVCredentials = .environment, options: WebDAVOptions = WebDAVOptions()
    ) throws(StorageError) {
        let place = try WebDAVPlace(url)
        try options.connection.check(place.origin, "WebDAVOptions")
        self.options = options
        transport = options.transport ?? DefaultTransport.make(HTTPOptions(options.connection))
        client = WebDAVClient(place, transport: transport, credentials: credentials)
        capabilities = StorageCapabilities(
            kind: "webdav", location: place.location, proof: options.readsBack ? .checksum : .byteCount)
    }

    /// Ends what is under way and closes the connections. Without it that happens with the last reference.
    public func shutdown() async { await transport.shutdown() }

    /// Asks for the credentials now, so that missing ones show before the first upload. The server is not asked.
    ///
    /// - Throws: `StorageError.Code.unauthorized`, with what is missing.
    public func requireCredentials() async throws {
        try await translatingFailures(nil) { try await client.requireCredentials() }
    }

    /// Stores the source's bytes.
    ///
    /// - Throws: as `RemoteStorage` says it of `upload(_:to:session:)`.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try await translatingFailures(key) {
            try await TemporaryPut(client: client, key: key, readsBack: options.readsBack).run(source, session)
        }
    }

    /// Fetches an object or a range of it.
    ///
    /// - Throws: as `RemoteStorage` says it of `download(_:into:)`.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try await translatingFailures(request.key) {
            try await FileDownload(client: client, request: request).run(sink)
        }
    }

    /// Describes an object.
    ///
    /// - Throws: as `RemoteStorage` says it of `head(_:)`.
    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        try await translatingFailures(key) { try await client.object(key) }
    }

    /// Removes an object, and the file of an upload that was given up.
    ///
    /// - Throws: as `RemoteStorage` says it of `delete(_:abandoning:)`.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try await translatingFailures(key) {
            if let unfinished = checkpoint.flatMap(UnfinishedFile.init) {
                try await client.remove(client.place.path(of: key, unfinished: unfinished.token), of: key)
            }
            try await client.remove(client.place.path(of: key), of: key)
        }
    }

    /// One page of the objects. The folders are read one by one (`Depth: 1`), since few servers allow more.
    ///
    /// - Throws: as `RemoteStorage` says it of `list(_:)`.
    public func list(_ request: ListRequest) async throws -> ListPage {
        try await translatingFailures(nil) {
            if let page = windows.kept(request) { return ListPage(objects: page.items, next: page.next) }
            let whole = windows.whole(request)
            let page = windows.page(request, of: try await FolderWalk(client: client, request: whole).objects())
            return ListPage(objects: page.items, next: page.next)
        }
    }

    /// Removes what uploads have left beside their places long ago.
    ///
    /// The transfer queue cleans up after itself; this is for what a killed process has left of small files.
    /// - Parameters:
    ///   - prefix: the beginning of the keys, such as a database's namespace with its slash.
    ///   - age: younger ones stay, since they may be under way on another device.
    /// - Returns: how many were removed.
    /// - Throws: `StorageError`. What was removed before stays removed.
    @discardableResult
    public func abandonUploads(below prefix: String, olderThan age: Duration) async throws -> Int {
        try await translatingFailures(nil) {
            try await FolderWalk(client: client, request: ListRequest(prefix: prefix)).removeUnfinished(olderThan: age)
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

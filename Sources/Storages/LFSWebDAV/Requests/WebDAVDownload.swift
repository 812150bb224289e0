import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// The download of an object or a range of it.
struct WebDAVDownload: Sendable {
    let client: WebDAVClient
    let request: DownloadRequest

    /// If the reply is ambiguous, it asks with PROPFIND and downloads the object once more.
    func run(_ sink: DownloadSink) async throws -> RemoteObject {
        let download = HTTPDownload(request)
        return try await download.run(
            describe: { try await client.object(request.key) },
            isBeyondEnd: { ($0 as? WebDAVFailure)?.status == 416 },
            fetch: {
                try await download.fetchOrAsk(
                    isOwn: { $0.isOwnFile }, isMissing: { ($0 as? WebDAVFailure)?.isMissing == true },
                    describe: { try await client.describe(request.key) },
                    isObject: { $0.wholeByteCount == $1.byteCount },
                    fetch: { isOwn in try await fetch(download, into: sink, isOwn: isOwn) })
            })
    }

    /// Downloads the object without `If-Match`, and compares the entity tag of the reply instead. `If-Match` never
    /// matches a weak tag, and apache sends weak tags for a second after a change.
    private func fetch(
        _ download: HTTPDownload, into sink: DownloadSink, isOwn: @escaping @Sendable (HTTPResponseHead) -> Bool
    ) async throws -> RemoteObject {
        let found = try await download.fetch(into: sink, comparesTag: false, isOwn: isOwn) { fields, reply in
            var get = client.request(.get, path: client.place.path(of: request.key))
            for field in fields.fields { try get.headers.set(field.name, value: field.value) }
            get.reply = reply
            return try await client.send(get, about: request.key)
        }
        return RemoteObject(
            key: request.key, byteCount: found.byteCount,
            entityTag: found.head.headers["etag"].flatMap(EntityTag.init)?.text, url: client.place.url(of: request.key))
    }
}

extension HTTPResponseHead {
    /// True if the reply must be a file. HTML pages have another type, and lack these fields.
    fileprivate var isOwnFile: Bool { !isPage && (headers["etag"] != nil || headers["last-modified"] != nil) }
}

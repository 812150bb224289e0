import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// Fetches an object or a range of it.
struct FileDownload: Sendable {
    let client: WebDAVClient
    let request: DownloadRequest

    func run(_ sink: DownloadSink) async throws -> RemoteObject {
        // HTTP has no way to ask for no bytes.
        if let range = request.range, range.isEmpty { return try await describe() }
        do {
            return try await fetchOrAsk(sink)
        } catch let failure as WebDAVFailure where failure.status == 416 && request.range != nil {
            // It begins behind the end: no bytes, but the object is there.
            return try await describe()
        }
    }

    /// Fetches it. Asks with PROPFIND where the reply leaves open what is there, and fetches it once more.
    private func fetchOrAsk(_ sink: DownloadSink) async throws -> RemoteObject {
        do {
            return try await fetch(sink) { $0.isOwnFile }
        } catch let failure as WebDAVFailure where failure.isMissing {
            // An upload may have ended since the server answered.
            return try await fetch(sink, as: client.describe(request.key))
        } catch is NotKnown {
            // Only the server itself can tell whether that page is the object.
            return try await fetch(sink, as: client.describe(request.key))
        }
    }

    /// Fetches an object that the server has described.
    private func fetch(_ sink: DownloadSink, as found: DAVResource) async throws -> RemoteObject {
        do {
            return try await fetch(sink) { $0.isOwnFile || $0.wholeByteCount == found.byteCount }
        } catch is NotKnown {
            throw StorageError(
                .unreachable,
                "The answer is not the file: look whether a proxy or a sign-in page stands before the server.",
                key: request.key)
        }
    }

    /// The reply may be a page of something before the server.
    private struct NotKnown: Error {}

    /// No `If-Match` goes out: none holds for a tag that the server calls weak, as apache does for a second. The tag of
    /// the reply is compared instead.
    private func fetch(
        _ sink: DownloadSink, isOwn: @escaping @Sendable (HTTPResponseHead) -> Bool
    ) async throws -> RemoteObject {
        var get = client.request(.get, client.place.path(of: request.key))
        if let range = request.range { try get.headers.set("range", range.asField) }
        let window = ReplyWindow(request, sink, isOwn: isOwn)
        get.reply = window.reply
        let response: HTTPResponse
        do {
            response = try await client.send(get, about: request.key)
        } catch {
            // A reply that was not taken may have been too long to be read at all; why it was not taken says more.
            throw window.refusal(request.key) ?? error
        }
        guard isOwn(response.head) else { throw NotKnown() }
        let total = try window.finish(request.key)
        return RemoteObject(
            key: request.key, byteCount: total, entityTag: response.head.headers["etag"].flatMap(EntityTag.init)?.text,
            url: client.place.url(of: request.key))
    }

    private func describe() async throws -> RemoteObject {
        try request.requireAsked(await client.object(request.key))
    }
}

extension HTTPResponseHead {
    /// Whether it can only lead a file: pages for people have another type, and none of these fields.
    fileprivate var isOwnFile: Bool { !isPage && (headers["etag"] != nil || headers["last-modified"] != nil) }
}

import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSWire

/// Fetches an object or a range of it. One signature serves all ranges.
struct FileDownload: Sendable {
    let client: SigningClient
    let actions: AnswerCache<ObjectKey, SigningAction>
    let request: DownloadRequest

    func run(_ sink: DownloadSink) async throws -> RemoteObject {
        // HTTP has no way to ask for no bytes.
        if let range = request.range, range.isEmpty { return try await described() }
        do {
            return try await fetchOrAsk(sink)
        } catch let failure as StoreFailure where failure.status == 416 && request.range != nil {
            // It begins behind the end: no bytes, but the object is there.
            return try await described()
        }
    }

    /// Fetches it. Asks the server where the store's reply leaves open what is there, and fetches it once more.
    private func fetchOrAsk(_ sink: DownloadSink) async throws -> RemoteObject {
        do {
            return try await fetch(sink) { $0.isOwnObject }
        } catch let failure as StoreFailure where failure.isMissing {
            // An upload may have ended since the store answered. A second 404 is about the place, not the object.
            return try await fetch(sink, as: described())
        } catch is NotKnown {
            // The page may be the object. Only the server can tell.
            return try await fetch(sink, as: described())
        }
    }

    /// Fetches an object that the server has described.
    private func fetch(_ sink: DownloadSink, as object: RemoteObject) async throws -> RemoteObject {
        do {
            return try await fetch(sink) { $0.isOwnObject || $0.isObject(object) }
        } catch is NotKnown {
            throw StorageError(
                .unreachable,
                "The answer is not the file: look whether a proxy or a sign-in page stands before the store.",
                key: request.key)
        }
    }

    /// The reply may be a page of something before the store.
    private struct NotKnown: Error {}

    private func fetch(
        _ sink: DownloadSink, isOwn: @escaping @Sendable (HTTPResponseHead) -> Bool
    ) async throws -> RemoteObject {
        let action = try await action()
        do {
            return try await fetchOnce(action, sink, isOwn: isOwn)
        } catch let failure as StoreFailure where failure.mayBeSignature {
            actions.drop(request.key, action)
            return try await fetchOnce(self.action(), sink, isOwn: isOwn)
        }
    }

    private func action() async throws -> SigningAction {
        let (client, key) = (client, request.key)
        return try await actions.answer(for: key, lifetime: { .seconds($0.expiresIn) }) { () throws(StorageError) in
            let answer = try await client.ask(.download, SigningObject(key: key.rawValue))
            do {
                return try answer.requiredAction(.download, key)
            } catch {
                throw StorageError(signing: error, key)
            }
        }
    }

    private func fetchOnce(
        _ action: SigningAction, _ sink: DownloadSink, isOwn: @escaping @Sendable (HTTPResponseHead) -> Bool
    ) async throws -> RemoteObject {
        var get = try StoreRequest(action, .get, requiresTLS: client.base.origin.isSecure, about: request.key).request
        if let range = request.range { try get.headers.set("range", range.asField) }
        if let tag = request.entityTag.flatMap(EntityTag.init) { try get.headers.set("if-match", tag.quoted) }
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
            key: request.key, byteCount: total,
            entityTag: response.headers["etag"].flatMap(EntityTag.init)?.text, url: client.url(of: request.key))
    }

    private func described() async throws -> RemoteObject {
        let answer = try await client.ask(.head, SigningObject(key: request.key.rawValue))
        return try request.requireAsked(client.object(request.key, try answer.requiredObject(request.key)))
    }
}

extension HTTPResponseHead {
    /// Whether it can only lead an object: pages for people have another type, and no store's own fields.
    fileprivate var isOwnObject: Bool {
        hasField(beginningWith: ["x-amz-", "x-ms-", "x-goog-", "x-lfs-"]) || (!isPage && headers["etag"] != nil)
    }

    /// Whether it may lead what the server has described.
    fileprivate func isObject(_ object: RemoteObject) -> Bool {
        let tag = headers["etag"].flatMap(EntityTag.init)?.text
        return wholeByteCount == object.byteCount && (tag == nil || object.entityTag == nil || tag == object.entityTag)
    }
}

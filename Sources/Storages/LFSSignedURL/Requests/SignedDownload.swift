import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSWire

/// The download of an object or a range of it. One signature is valid for all ranges.
struct SignedDownload: Sendable {
    let client: SigningClient
    let actions: SignedRequestCache<ObjectKey, SigningAction>
    let request: DownloadRequest

    /// If the store's reply is ambiguous, it asks the signing server and downloads the object once more.
    func run(_ sink: DownloadSink) async throws -> RemoteObject {
        let download = HTTPDownload(request)
        return try await download.run(
            describe: described, isBeyondEnd: { ($0 as? StoreFailure)?.status == 416 },
            fetch: {
                // A second 404 concerns the place, not the object.
                try await download.fetchOrAsk(
                    isOwn: { $0.isOwnObject }, isMissing: { ($0 as? StoreFailure)?.isMissing == true },
                    describe: { try request.requireAsked(try await described()) },
                    isObject: { $0.isObject($1) },
                    fetch: { isOwn in try await fetch(sink, isOwn: isOwn) })
            })
    }

    private func fetch(
        _ sink: DownloadSink, isOwn: @escaping @Sendable (HTTPResponseHead) -> Bool
    ) async throws -> RemoteObject {
        let action = try await action()
        do {
            return try await fetchOnce(action, sink: sink, isOwn: isOwn)
        } catch let failure as StoreFailure where failure.mayBeSignature {
            actions.drop(request.key, answer: action)
            return try await fetchOnce(self.action(), sink: sink, isOwn: isOwn)
        }
    }

    private func action() async throws -> SigningAction {
        let (client, key) = (client, request.key)
        return try await actions.answer(for: key, lifetime: { .seconds($0.expiresIn) }) { () throws(StorageError) in
            let answer = try await client.ask(.download, object: SigningObject(key: key.rawValue))
            do {
                return try answer.requiredAction(.download, key: key)
            } catch {
                throw StorageError(signing: error, key)
            }
        }
    }

    private func fetchOnce(
        _ action: SigningAction, sink: DownloadSink, isOwn: @escaping @Sendable (HTTPResponseHead) -> Bool
    ) async throws -> RemoteObject {
        let found = try await HTTPDownload(request).fetch(into: sink, isOwn: isOwn) { fields, reply in
            var get = try StoreRequest(
                action, method: .get, requiresTLS: client.base.origin.isSecure, about: request.key
            ).request
            for field in fields.fields { try get.headers.set(field.name, value: field.value) }
            get.reply = reply
            return try await client.send(get, about: request.key)
        }
        return RemoteObject(
            key: request.key, byteCount: found.byteCount,
            entityTag: found.head.headers["etag"].flatMap(EntityTag.init)?.text, url: client.url(of: request.key))
    }

    private func described() async throws -> RemoteObject {
        let answer = try await client.ask(.head, object: SigningObject(key: request.key.rawValue))
        return client.object(request.key, answer: try answer.requiredObject(request.key))
    }
}

extension HTTPResponseHead {
    /// True if the reply must be an object. HTML pages have another type, and lack the fields of stores.
    fileprivate var isOwnObject: Bool {
        hasField(beginningWith: ["x-amz-", "x-ms-", "x-goog-", "x-lfs-"]) || (!isPage && headers["etag"] != nil)
    }

    /// Returns true if the reply may be the object that the server has described.
    fileprivate func isObject(_ object: RemoteObject) -> Bool {
        let tag = headers["etag"].flatMap(EntityTag.init)?.text
        return wholeByteCount == object.byteCount && (tag == nil || object.entityTag == nil || tag == object.entityTag)
    }
}

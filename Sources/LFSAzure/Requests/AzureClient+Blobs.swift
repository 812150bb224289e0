import LFSHTTP
import LFSHTTPStorage
import LFSStorage

extension AzureClient {
    /// What the service says of a blob ("Get Blob Properties").
    func described(_ key: ObjectKey) async throws -> StoredBlob {
        let response = try await send(AzureRequest(.head, key))
        guard let byteCount = response.head.contentLength, byteCount >= 0 else {
            throw StorageError(.serverError, "The server did not say how long the object is.", key: key)
        }
        return StoredBlob(response.head, byteCount: byteCount)
    }

    /// The same, nil when the service itself says that there is none.
    func find(_ key: ObjectKey) async throws -> StoredBlob? {
        do {
            return try await described(key)
        } catch let failure as AzureFailure where failure.isMissing {
            return nil
        }
    }

    /// Removes a blob with its snapshots ("Delete Blob"). Removing what is not there succeeds.
    ///
    /// - Parameter entityTag: what must be there still; nil for whatever is.
    func delete(_ key: ObjectKey, entityTag: EntityTag? = nil) async throws {
        var request = AzureRequest(.delete, key)
        try request.headers.set("x-ms-delete-snapshots", "include")
        if let entityTag { try request.headers.set("if-match", entityTag.quoted) }
        do {
            let response = try await send(request)
            guard response.status == 202 else {
                throw StorageError(
                    .serverError, "The server answered \(response.status) to a deletion, which removes nothing.",
                    key: key)
            }
        } catch let failure as AzureFailure where failure.isMissing {
            // It is gone, which is what was asked for.
        }
    }

    /// One page of the container ("List Blobs").
    ///
    /// - Parameter alsoUncommitted: whether names are listed, too, under which only blocks are.
    func list(
        below prefix: String, limit: Int, marker: String?, alsoUncommitted: Bool = false
    ) async throws -> ListBlobsReply {
        var request = AzureRequest(
            .get,
            query: [("restype", "container"), ("comp", "list"), ("maxresults", String(min(limit, 5_000)))])
        if !place.prefix.isEmpty || !prefix.isEmpty { request.query.append(("prefix", place.prefix + prefix)) }
        if let marker { request.query.append(("marker", marker)) }
        if alsoUncommitted { request.query.append(("include", "uncommittedblobs")) }
        request.reply = .bytes(limit: ListBlobsReply.limit)
        return try ListBlobsReply(try await send(request).body)
    }
}

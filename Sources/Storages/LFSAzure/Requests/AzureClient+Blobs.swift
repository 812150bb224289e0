import LFSHTTP
import LFSHTTPStorage
import LFSStorage

extension AzureClient {
    /// Returns the service's description of a blob ("Get Blob Properties").
    func described(_ key: ObjectKey) async throws -> StoredBlob {
        let response = try await send(AzureRequest(.head, key: key))
        guard let byteCount = response.head.contentLength, byteCount >= 0 else {
            throw StorageError(.serverError, message: "The server did not report the size of the object.", key: key)
        }
        return StoredBlob(response.head, byteCount: byteCount)
    }

    /// Returns the description, or nil if the service itself reports that the blob does not exist.
    func find(_ key: ObjectKey) async throws -> StoredBlob? {
        do {
            return try await described(key)
        } catch let failure as AzureFailure where failure.isMissing {
            return nil
        }
    }

    /// Deletes a blob with its snapshots ("Delete Blob"). Deleting a missing blob succeeds.
    ///
    /// - Parameter entityTag: deletes only this version. nil deletes any version.
    func delete(_ key: ObjectKey, entityTag: EntityTag? = nil) async throws {
        var request = AzureRequest(.delete, key: key)
        try request.headers.set("x-ms-delete-snapshots", value: "include")
        if let entityTag { try request.headers.set("if-match", value: entityTag.quoted) }
        do {
            let response = try await send(request)
            guard response.status == 202 else {
                throw StorageError(
                    .serverError,
                    message: "The server answered \(response.status) to a deletion, which removes nothing.",
                    key: key)
            }
        } catch let failure as AzureFailure where failure.isMissing {
            // The blob is already deleted, as requested.
        }
    }

    /// Returns one page of the container ("List Blobs").
    ///
    /// - Parameter alsoUncommitted: true to include names that have only uncommitted blocks.
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

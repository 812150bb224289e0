import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// The requests of an upload in blocks.
extension AzureClient {
    /// Returns the blocks of a blob and its uncommitted blocks ("Get Block List"). nil if the service has neither.
    func blocks(of key: ObjectKey) async throws -> BlockListReply? {
        var request = AzureRequest(.get, key: key, query: [("comp", "blocklist"), ("blocklisttype", "all")])
        request.reply = .bytes(limit: BlockListReply.limit)
        do {
            return try BlockListReply(try await send(request))
        } catch let failure as AzureFailure where failure.isMissing {
            return nil
        }
    }

    /// Creates a blob from uncommitted blocks ("Put Block List"). Returns its entity tag.
    ///
    /// - Parameter onlyIfAbsent: true if it must not replace a blob.
    func commit(
        _ key: ObjectKey, blocks: [String], fields: HTTPHeaders = [:], onlyIfAbsent: Bool
    ) async throws -> EntityTag {
        let body = BlockListBody(blocks).bytes
        var request = AzureRequest(.put, key: key, query: [("comp", "blocklist")])
        request.headers = fields
        try request.headers.set("content-type", value: "application/xml")
        if onlyIfAbsent { try request.headers.set("if-none-match", value: "*") }
        let checksum = ContentCRC64(of: body)
        try request.headers.set(ContentCRC64.field, value: checksum.text)
        request.body = .bytes(body)
        request.stallTimeout = Self.commitPatience
        let response = try await send(request)
        // This checksum is that of the list, not of the blocks.
        if let word = response.headers[ContentCRC64.field], word != checksum.text { throw StorageError.notProven(key) }
        guard response.status == 201, let tag = response.headers["etag"].flatMap(EntityTag.init) else {
            throw StorageError(
                .serverError, message: "The server accepted a list of blocks but returned no tag.", key: key)
        }
        return tag
    }

    /// The content type of the empty blob that drops blocks. It identifies an empty blob that a crash has left.
    static let abandonedType = "application/vnd.lfs.abandoned"

    /// Deletes such an empty blob if it is still the same version.
    ///
    /// - Returns: true if it was deleted.
    func removeAbandoned(_ key: ObjectKey, tag: EntityTag) async throws -> Bool {
        do {
            try await delete(key, entityTag: tag)
            return true
        } catch let failure as AzureFailure where failure.isTaken {
            // Another client has created an object under the key.
            return false
        }
    }

    /// The timeout for the reply to a list of thousands of blocks.
    private static var commitPatience: Duration { .seconds(300) }

    /// Drops the uncommitted blocks of an abandoned upload if the blob does not exist. The service has no request for
    /// this, and keeps the blocks for a week.
    ///
    /// This method creates an empty blob, which drops the blocks. Then it deletes that blob if it is still the same
    /// version.
    /// - Returns: true if there were blocks.
    @discardableResult
    func abandonBlocks(of key: ObjectKey) async throws -> Bool {
        guard let list = try await blocks(of: key), !list.uncommitted.isEmpty, !list.isBlob else { return false }
        do {
            let fields: HTTPHeaders = ["x-ms-blob-content-type": Self.abandonedType]
            let tag = try await commit(key, blocks: [], fields: fields, onlyIfAbsent: true)
            try await delete(key, entityTag: tag)
        } catch let failure as AzureFailure where failure.isTaken {
            // Another client has created the blob in the meantime, with or without these blocks.
            return false
        }
        return true
    }
}

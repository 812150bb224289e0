import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// The requests of an upload in blocks.
extension AzureClient {
    /// The blocks of a blob, and those that wait ("Get Block List"); nil when the service has neither.
    func blocks(of key: ObjectKey) async throws -> BlockListReply? {
        var request = AzureRequest(.get, key, query: [("comp", "blocklist"), ("blocklisttype", "all")])
        request.reply = .bytes(limit: BlockListReply.limit)
        do {
            return try BlockListReply(try await send(request))
        } catch let failure as AzureFailure where failure.isMissing {
            return nil
        }
    }

    /// Makes a blob of blocks that wait ("Put Block List"). Returns its entity tag.
    ///
    /// - Parameter onlyIfAbsent: whether it must not replace one.
    func commit(
        _ key: ObjectKey, _ blocks: [String], _ fields: HTTPHeaders = [:], onlyIfAbsent: Bool
    ) async throws -> EntityTag {
        let body = BlockListBody(blocks).bytes
        var request = AzureRequest(.put, key, query: [("comp", "blocklist")])
        request.headers = fields
        try request.headers.set("content-type", "application/xml")
        if onlyIfAbsent { try request.headers.set("if-none-match", "*") }
        let checksum = ContentCRC64(of: body)
        try request.headers.set(ContentCRC64.field, checksum.text)
        request.body = .bytes(body)
        request.stallTimeout = Self.commitPatience
        let response = try await send(request)
        // This is about the list itself, and not about the blocks.
        if let word = response.headers[ContentCRC64.field], word != checksum.text { throw StorageError.notProven(key) }
        guard response.status == 201, let tag = response.headers["etag"].flatMap(EntityTag.init) else {
            throw StorageError(.serverError, "The server took a list of blocks and gave no tag.", key: key)
        }
        return tag
    }

    /// The type of the empty blob that drops blocks. A crash may leave one, which is found by it.
    static let abandonedType = "application/vnd.lfs.abandoned"

    /// Removes such an empty blob, if it is still this one.
    ///
    /// - Returns: whether it was.
    func removeAbandoned(_ key: ObjectKey, _ tag: EntityTag) async throws -> Bool {
        do {
            try await delete(key, entityTag: tag)
            return true
        } catch let failure as AzureFailure where failure.isTaken {
            // Somebody has put an object there.
            return false
        }
    }

    /// How long to wait for the answer to a list of thousands of blocks.
    private static var commitPatience: Duration { .seconds(300) }

    /// Removes the blocks of an upload that was given up, where there is no blob: the service has no request for that,
    /// and keeps them for a week.
    ///
    /// An empty blob is made of nothing, which drops the blocks, and removed if it is still that one.
    /// - Returns: whether there were any.
    @discardableResult
    func abandonBlocks(of key: ObjectKey) async throws -> Bool {
        guard let list = try await blocks(of: key), !list.uncommitted.isEmpty, !list.isBlob else { return false }
        do {
            let fields: HTTPHeaders = ["x-ms-blob-content-type": Self.abandonedType]
            let tag = try await commit(key, [], fields, onlyIfAbsent: true)
            try await delete(key, entityTag: tag)
        } catch let failure as AzureFailure where failure.isTaken {
            // Somebody has made the blob meanwhile, of these blocks or without them.
            return false
        }
        return true
    }
}

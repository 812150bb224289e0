import LFSHTTP
package import LFSHTTPStorage
package import LFSStorage

/// Operations for objects whose blocks other clients have sent.
extension AzureStorage {
    /// A block that the service has.
    package struct StoredBlock: Sendable {
        package let number: Int
        package let byteCount: Int64
        /// The block's MD5 in hex. The service has compared it if the signature of the block's request covered the
        /// bytes.
        package let md5: String
        fileprivate let name: String
    }

    /// The blocks of an object, ordered by number.
    package struct StoredBlocks: Sendable {
        package let blocks: [StoredBlock]
        /// True if the blocks are already the object. False if they are uncommitted.
        package let areObject: Bool
        /// True if two uncommitted blocks have the same number.
        package let areAmbiguous: Bool
        /// The entity tag of the object, if the blocks are committed.
        package var entityTag: String?
    }

    /// The limits for blocks.
    package var partLimits: PartLimits { BlockUpload.limits }
    /// The object size in bytes from which objects are uploaded in blocks.
    package var partThreshold: Int64 { max(options.multipartThreshold, 1) }
    /// The configured size of a block in bytes. nil derives it from the object's size.
    package var wantedPartSize: Int64? { options.partSize }

    /// Returns the blocks of an object that the service has.
    ///
    /// - Parameters:
    ///   - sha256: the SHA-256 of the object, in hex.
    ///   - replaces: true if the blocks replace an object. Then only uncommitted blocks count, because the committed
    ///     ones may belong to the damaged object.
    ///   - size: returns the required size of the block with a number. nil for an invalid number.
    /// - Throws: `StorageError`.
    package func blocks(
        of sha256: String, at key: ObjectKey, replaces: Bool, size: (Int) -> Int64?
    ) async throws -> StoredBlocks {
        try await translatingFailures(key) {
            guard let list = try await client.blocks(of: key) else {
                return StoredBlocks(blocks: [], areObject: false, areAmbiguous: false)
            }
            func own(_ blocks: [BlockListReply.Block]) -> [StoredBlock] {
                blocks.compactMap { block in
                    guard let id = SignedBlockID(listed: block.name, of: sha256), size(id.number) == block.byteCount
                    else { return nil }
                    return StoredBlock(
                        number: id.number, byteCount: block.byteCount, md5: id.md5, name: block.name)
                }
            }
            let committed = own(list.committed)
            if !replaces, list.isBlob, !committed.isEmpty, committed.count == list.committed.count {
                return StoredBlocks(
                    blocks: committed, areObject: true, areAmbiguous: false, entityTag: list.entityTag?.text)
            }
            let waiting = own(list.uncommitted)
            let byNumber = Dictionary(waiting.map { ($0.number, $0) }) { _, later in later }
            return StoredBlocks(
                blocks: byNumber.values.sorted { $0.number < $1.number }, areObject: false,
                areAmbiguous: byNumber.count < waiting.count)
        }
    }

    /// The result of creating an object from blocks.
    package enum Completion: Sendable {
        /// The service has the object, with this entity tag.
        case done(entityTag: String)
        /// The uncommitted blocks no longer exist.
        case lost
        /// The key already has an object.
        case taken
    }

    /// Creates an object from uncommitted blocks.
    ///
    /// - Parameters:
    ///   - blocks: all blocks, in order.
    ///   - bytes: the announced bytes of the object.
    ///   - replaces: true if the key may already have an object.
    /// - Throws: `StorageError`.
    package func complete(
        _ blocks: [StoredBlock], to key: ObjectKey, bytes: DeclaredContent, replaces: Bool
    ) async throws -> Completion {
        try await translatingFailures(key) {
            let fields = try BlobFields(accessTier: options.accessTier).make(
                contentType: bytes.contentType, sha256: bytes.sha256)
            do {
                let tag = try await client.commit(
                    key, blocks: blocks.map(\.name), fields: fields, onlyIfAbsent: !replaces)
                return .done(entityTag: tag.text)
            } catch let failure as AzureFailure where failure.isAboutBlocks {
                return .lost
            } catch let failure as AzureFailure where failure.isTaken && !replaces {
                return .taken
            }
        }
    }

    /// Drops the uncommitted blocks of a key that has no object.
    ///
    /// - Throws: `StorageError`.
    package func abandonBlocks(of key: ObjectKey) async throws {
        try await translatingFailures(key) { _ = try await client.abandonBlocks(of: key) }
    }
}

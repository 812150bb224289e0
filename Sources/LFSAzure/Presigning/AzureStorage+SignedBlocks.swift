import LFSHTTP
package import LFSHTTPStorage
package import LFSStorage

/// Objects of blocks that others have sent.
extension AzureStorage {
    /// A block that the service has.
    package struct StoredBlock: Sendable {
        package let number: Int
        package let byteCount: Int64
        /// In hex. The service's word on the bytes where what has signed the block's request binds them.
        package let md5: String
        fileprivate let name: String
    }

    /// The blocks of an object, in the order of their numbers.
    package struct StoredBlocks: Sendable {
        package let blocks: [StoredBlock]
        /// Whether they are the object already, and do not wait to become it.
        package let areObject: Bool
        /// Whether two wait that have one number.
        package let areAmbiguous: Bool
        /// Of the object that they are.
        package var entityTag: String?
    }

    /// How objects are cut.
    package var partLimits: PartLimits { BlockUpload.limits }
    /// From this size on objects come in blocks.
    package var partThreshold: Int64 { max(options.multipartThreshold, 1) }
    /// The size of a block that is asked for; nil lets the object's size decide.
    package var wantedPartSize: Int64? { options.partSize }

    /// The blocks of an object that the service has.
    ///
    /// - Parameters:
    ///   - sha256: of the object, in hex.
    ///   - size: that a block has to have by its number; nil for a number that none has.
    /// - Throws: `StorageError`.
    package func blocks(
        of sha256: String, at key: ObjectKey, size: (Int) -> Int64?
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
            if list.isBlob, !committed.isEmpty, committed.count == list.committed.count {
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

    /// How making an object of blocks ended.
    package enum Completion: Sendable {
        /// The service has the object, with this entity tag.
        case done(entityTag: String)
        /// The blocks do not wait any more.
        case lost
        /// There is an object already.
        case taken
    }

    /// Makes an object of blocks that wait.
    ///
    /// - Parameters:
    ///   - blocks: all of them, in order.
    ///   - bytes: of the object.
    ///   - replaces: whether there may be one already.
    /// - Throws: `StorageError`.
    package func complete(
        _ blocks: [StoredBlock], to key: ObjectKey, _ bytes: AnnouncedBytes, replaces: Bool
    ) async throws -> Completion {
        try await translatingFailures(key) {
            let fields = try BlobFields(accessTier: options.accessTier).make(
                contentType: bytes.contentType, sha256: bytes.sha256)
            do {
                let tag = try await client.commit(key, blocks.map(\.name), fields, onlyIfAbsent: !replaces)
                return .done(entityTag: tag.text)
            } catch let failure as AzureFailure where failure.isAboutBlocks {
                return .lost
            } catch let failure as AzureFailure where failure.isTaken && !replaces {
                return .taken
            }
        }
    }

    /// Drops the blocks that wait under a key, as far as there is no object.
    ///
    /// - Throws: `StorageError`.
    package func abandonBlocks(of key: ObjectKey) async throws {
        try await translatingFailures(key) { _ = try await client.abandonBlocks(of: key) }
    }
}

import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import Synchronization

/// Uploads a file in blocks, several at once, and goes on where an earlier try was interrupted ("Put Block", "Put Block
/// List").
///
/// A block's name has its content in it (``BlockID``), so that of an earlier try nothing has to be believed but the
/// service's list. The blob appears when all blocks are there, and replaces one only after that was looked at.
struct BlockUpload: Sendable {
    let client: AzureClient
    let fields: BlobFields
    let permits: Permits
    let key: ObjectKey
    let source: UploadSource
    let session: UploadSession
    let plan: PartPlan

    /// "Scalability and performance targets for Blob storage": 50,000 blocks of 4,000 MiB.
    static let limits = PartLimits(maximumCount: 50_000, minimumSize: 1 << 20, maximumSize: 4_000 << 20)

    func run() async throws -> RemoteObject {
        let list = try await client.blocks(of: key)
        if let list, list.isBlob, !session.replacesObject, let object = try await existing(list) { return object }
        if session.checkpoint.flatMap(BlockCheckpoint.init) == nil {
            try await session.save(BlockCheckpoint(source, partSize: plan.partSize).encoded())
        }
        var there: [String: Int64] = [:]
        for block in list?.uncommitted ?? [] { there[block.name] = block.byteCount }
        do {
            return try await commit(try await send(there))
        } catch let failure as AzureFailure where failure.code == "InvalidBlobOrBlock" {
            // Somebody else's blocks wait under this name, whose ids have another length.
            try await client.abandonBlocks(of: key)
            throw failure
        }
    }

    // MARK: The blocks

    /// Returns their names, in order, and whether the service has proven each that went out.
    private func send(_ there: [String: Int64]) async throws -> (names: [String], isProven: Bool) {
        var names: [String] = []
        let progress = PartProgress(session)
        let isProven = Mutex(true)
        let parts = PartSending(plan, SourceDigester(source, [.sha256, .crc64]), permits)
        try await parts.run { part, digest in
            let name = try name(of: part, digest)
            names.append(name)
            guard there[name] == Int64(part.range.count) else { return false }
            progress.has(part)
            return true
        } send: { part, digest in
            do {
                if try await !put(part, digest, progress) { isProven.withLock { $0 = false } }
                progress.has(part)
            } catch {
                progress.lost(part)
                throw error
            }
        }
        return (names, isProven.withLock { $0 })
    }

    private func name(of part: PartPlan.Part, _ digest: PayloadDigest) throws(StorageError) -> String {
        guard let id = BlockID(sha256: digest.sha256, number: part.number) else {
            throw StorageError(.serverError, "The digest of a block was not computed.", key: key)
        }
        return id.text
    }

    /// Returns whether the service has told the block's checksum, which is the right one.
    private func put(_ part: PartPlan.Part, _ digest: PayloadDigest, _ progress: PartProgress) async throws -> Bool {
        var request = AzureRequest(
            .put, key, query: [("comp", "block"), ("blockid", try name(of: part, digest))])
        guard let checksum = ContentCRC64(hex: digest.crc64) else {
            throw StorageError(.serverError, "The checksum of a block was not computed.", key: key)
        }
        try request.headers.set(ContentCRC64.field, checksum.text)
        request.body = .source(source, part.range)
        request.onProgress = { progress.moved(part, to: $0) }
        let response = try await client.send(request)
        guard let word = response.headers[ContentCRC64.field] else { return false }
        guard response.status == 201, word == checksum.text else { throw StorageError.notProven(key) }
        return true
    }

    // MARK: The end

    private func commit(_ blocks: (names: [String], isProven: Bool)) async throws -> RemoteObject {
        let tag: EntityTag
        do {
            tag = try await commit(blocks.names, onlyIfAbsent: !session.replacesObject)
        } catch let failure as AzureFailure where failure.isTaken || failure.isAboutBlocks {
            // The same file when only the reply to an earlier commit was lost: its blocks do not wait any more.
            if let list = try await client.blocks(of: key), isSame(list, blocks.names),
                let object = try await whole(isProven: true)
            {
                return object
            }
            guard failure.isTaken, !session.replacesObject else { throw StorageError.notProven(key) }
            tag = try await replace(blocks.names)
        }
        let object = try await whole(isProven: blocks.isProven)
        // Another tag is that of another upload.
        guard let object, object.entityTag == tag.text else { throw StorageError.notProven(key) }
        return object
    }

    private func commit(_ names: [String], onlyIfAbsent: Bool) async throws -> EntityTag {
        try await client.commit(key, names, try fields.make(for: source), onlyIfAbsent: onlyIfAbsent)
    }

    private func replace(_ names: [String]) async throws -> EntityTag {
        do {
            return try await commit(names, onlyIfAbsent: false)
        } catch let failure as AzureFailure where failure.isAboutBlocks {
            // Another upload to the same key was faster, which has dropped them.
            throw StorageError.notProven(key)
        }
    }

    /// What is there, if it has the right size.
    private func whole(isProven: Bool) async throws -> RemoteObject? {
        guard let found = try await client.find(key), found.byteCount == source.byteCount else { return nil }
        return found.remoteObject(key, at: client.place, sha256: isProven ? source.sha256 : nil)
    }

    /// Whether a blob is made of these blocks: no other client gives such names, and the service has compared the
    /// checksum of each when it came.
    private func isSame(_ list: BlockListReply, _ names: [String]) -> Bool {
        list.isBlob && list.committed.count == plan.count && list.committed.map(\.name) == names
            && (1...plan.count).allSatisfy { list.committed[$0 - 1].byteCount == Int64(plan.part($0).range.count) }
    }

    /// What is there, if it was made of the local bytes.
    private func existing(_ list: BlockListReply) async throws -> RemoteObject? {
        // Only then it is worth to read the local bytes.
        let sizes = (1...plan.count).map { Int64(plan.part($0).range.count) }
        guard list.committed.map(\.byteCount) == sizes else { return nil }
        let digester = SourceDigester(source, .sha256)
        var names: [String] = []
        for number in 1...plan.count {
            let part = plan.part(number)
            names.append(try name(of: part, try await digester.next(Int64(part.range.count))))
        }
        try await digester.requireWhole()
        return isSame(list, names) ? try await whole(isProven: true) : nil
    }
}

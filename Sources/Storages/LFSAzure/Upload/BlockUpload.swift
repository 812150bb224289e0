import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import Synchronization

/// An upload of a file in concurrent blocks, which resumes an interrupted attempt ("Put Block", "Put Block List").
///
/// A block's name contains a hash of its content (``BlockID``). So the service's list shows which blocks of an earlier
/// attempt can be used. If the service has reported the checksum of other bytes, the next attempt begins a new series
/// and uses only its blocks. The blob appears when all blocks have arrived. It replaces an existing blob only after
/// that was examined.
struct BlockUpload: Sendable {
    let client: AzureClient
    let fields: BlobFields
    let permits: AsyncSemaphore
    let key: ObjectKey
    let source: UploadSource
    let session: UploadSession
    let plan: PartPlan
    /// The checkpoint of an earlier attempt.
    let earlier: BlockCheckpoint?

    private var series: UInt16 { earlier?.series ?? 0 }

    /// "Scalability and performance targets for Blob storage": 50,000 blocks of 4,000 MiB.
    static let limits = PartLimits(maximumCount: 50_000, minimumSize: 1 << 20, maximumSize: 4_000 << 20)

    func run() async throws -> RemoteObject {
        let list = try await client.blocks(of: key)
        if let list, list.isBlob, !session.replacesObject, let object = try await existing(list) { return object }
        if earlier == nil { try await session.save(BlockCheckpoint(source, partSize: plan.partSize).encoded()) }
        var there: [String: Int64] = [:]
        for block in list?.uncommitted ?? [] { there[block.name] = block.byteCount }
        do {
            return try await commit(try await send(there))
        } catch let failure as AzureFailure where failure.isAboutOtherBlocks {
            try await client.abandonBlocks(of: key)
            throw failure
        }
    }

    // MARK: Blocks

    /// Uploads the missing blocks. Returns the names of all blocks, in order, and whether the service confirmed each
    /// block that was sent.
    private func send(_ there: [String: Int64]) async throws -> (names: [String], isProven: Bool) {
        var names: [String] = []
        let progress = PartProgress(session)
        let isProven = Mutex(true)
        let hasOtherBytes = Mutex(false)
        let parts = PartSending(plan, digester: SourceDigester(source, kinds: [.sha256, .crc64]), permits: permits)
        do {
            try await parts.run { part, digest in
                let name = try name(of: part, digest)
                names.append(name)
                guard there[name] == Int64(part.range.count) else { return false }
                progress.has(part)
                return true
            } send: { part, digest in
                do {
                    if try await !put(part, digest: digest, progress: progress) { isProven.withLock { $0 = false } }
                    progress.has(part)
                } catch {
                    progress.lost(part)
                    if (error as? StorageError)?.code == .integrity { hasOtherBytes.withLock { $0 = true } }
                    throw error
                }
            }
        } catch {
            if hasOtherBytes.withLock({ $0 }) { try await beginSeries() }
            throw error
        }
        return (names, isProven.withLock { $0 })
    }

    /// Makes the next attempt begin a new series of blocks, because the service lists a block with other bytes under
    /// its right name and size.
    private func beginSeries() async throws {
        // Until the numbers repeat, the service has dropped the first blocks: it keeps them for a week.
        let next = BlockCheckpoint(source, partSize: plan.partSize, series: series &+ 1)
        try await session.save(next.encoded())
    }

    private func name(of part: PartPlan.Part, _ digest: PayloadDigest) throws(StorageError) -> String {
        guard let id = BlockID(sha256: digest.sha256, number: part.number, series: series) else {
            throw StorageError(.serverError, message: "The digest of a block was not computed.", key: key)
        }
        return id.text
    }

    /// Uploads a block. Returns true if the service returned a matching checksum, and false if it returned none.
    private func put(_ part: PartPlan.Part, digest: PayloadDigest, progress: PartProgress) async throws -> Bool {
        var request = AzureRequest(
            .put, key: key, query: [("comp", "block"), ("blockid", try name(of: part, digest))])
        guard let checksum = ContentCRC64(hex: digest.crc64) else {
            throw StorageError(.serverError, message: "The checksum of a block was not computed.", key: key)
        }
        try request.headers.set(ContentCRC64.field, value: checksum.text)
        request.body = .source(source, range: part.range)
        request.onProgress = { progress.moved(part, to: $0) }
        let response = try await client.send(request)
        guard let word = response.headers[ContentCRC64.field] else { return false }
        guard response.status == 201, word == checksum.text else { throw StorageError.notProven(key) }
        return true
    }

    // MARK: Commit

    private func commit(_ blocks: (names: [String], isProven: Bool)) async throws -> RemoteObject {
        let tag: EntityTag
        do {
            tag = try await commit(blocks.names, onlyIfAbsent: !session.replacesObject)
        } catch let failure as AzureFailure where failure.isTaken || failure.isAboutBlocks {
            // If only the reply to an earlier commit was lost, its blocks are no longer uncommitted.
            if let list = try await client.blocks(of: key), isSame(list, names: blocks.names),
                let object = try await whole(isProven: true)
            {
                return object
            }
            guard failure.isTaken, !session.replacesObject else { throw StorageError.notProven(key) }
            tag = try await replace(blocks.names)
        }
        let object = try await whole(isProven: blocks.isProven)
        // Another tag belongs to another upload.
        guard let object, object.entityTag == tag.text else { throw StorageError.notProven(key) }
        return object
    }

    private func commit(_ names: [String], onlyIfAbsent: Bool) async throws -> EntityTag {
        try await client.commit(key, blocks: names, fields: try fields.make(for: source), onlyIfAbsent: onlyIfAbsent)
    }

    private func replace(_ names: [String]) async throws -> EntityTag {
        do {
            return try await commit(names, onlyIfAbsent: false)
        } catch let failure as AzureFailure where failure.isAboutBlocks {
            // Another upload to the same key was faster, so the service dropped these blocks.
            throw StorageError.notProven(key)
        }
    }

    /// Returns the blob if it has the right size.
    private func whole(isProven: Bool) async throws -> RemoteObject? {
        guard let found = try await client.find(key), found.byteCount == source.byteCount else { return nil }
        return found.remoteObject(key, at: client.place, sha256: isProven ? source.sha256 : nil)
    }

    /// Returns true if a blob consists of these blocks. No other client creates such names, and the service compared
    /// the checksum of each block when it arrived.
    private func isSame(_ list: BlockListReply, names: [String]) -> Bool {
        list.isBlob && list.committed.count == plan.count && list.committed.map(\.name) == names
            && (1...plan.count).allSatisfy { list.committed[$0 - 1].byteCount == Int64(plan.part($0).range.count) }
    }

    /// Returns the existing blob if it consists of the local bytes.
    private func existing(_ list: BlockListReply) async throws -> RemoteObject? {
        // Reading the local bytes only makes sense if the block sizes match.
        let sizes = (1...plan.count).map { Int64(plan.part($0).range.count) }
        guard list.committed.map(\.byteCount) == sizes else { return nil }
        let digester = SourceDigester(source, kinds: .sha256)
        var names: [String] = []
        for number in 1...plan.count {
            let part = plan.part(number)
            names.append(try name(of: part, try await digester.next(Int64(part.range.count))))
        }
        try await digester.requireWhole()
        return isSame(list, names: names) ? try await whole(isProven: true) : nil
    }
}

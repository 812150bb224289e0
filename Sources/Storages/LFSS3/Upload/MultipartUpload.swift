import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// An upload of a file in concurrent parts, which resumes an interrupted attempt.
///
/// The order makes it safe. The upload ID is saved before the first part is sent, and each part's tag and checksum
/// afterwards. The object appears when all parts have arrived. Parts of an earlier attempt are used only if the server
/// lists them and they match the local bytes.
struct MultipartUpload: Sendable {
    let client: S3Client
    let provider: S3Provider
    let options: S3Options
    let permits: AsyncSemaphore
    let key: ObjectKey
    let source: UploadSource
    let session: UploadSession

    private var checksum: MultipartChecksum {
        MultipartChecksum(provider, isSecure: client.place.origin.isSecure, source: source)
    }

    func run() async throws -> RemoteObject {
        client.began(key)
        defer { client.ended(key) }
        if let earlier = usableCheckpoint {
            do {
                if let listed = try await listedParts(of: earlier) { return try await upload(earlier, listed: listed) }
            } catch let failure as S3Failure where failure.isLostUpload {
                return try await afterLostUpload(earlier)
            }
        }
        switch try await begin() {
        case .there(let object): return object
        case .begun(let checkpoint):
            do {
                return try await upload(checkpoint, listed: [])
            } catch let failure as S3Failure where failure.isLostUpload {
                return try await afterLostUpload(checkpoint)
            }
        }
    }

    private func proof(_ layout: ObjectConfirmation.Layout) -> ObjectConfirmation {
        ObjectConfirmation(
            source: source, tagsAreMD5: provider.entityTagIsMD5 && options.encryption == nil,
            partTagsAreMD5: provider.multipartTagIsMD5, layout: layout)
    }

    // MARK: Start

    var usableCheckpoint: MultipartCheckpoint? {
        guard let earlier = session.checkpoint.flatMap(MultipartCheckpoint.init), earlier.uploadID != nil,
            earlier.sha256 == source.sha256, earlier.byteCount == source.byteCount,
            earlier.checksum == checksum,
            PartPlan(byteCount: earlier.byteCount, partSize: earlier.partSize) != nil
        else { return nil }
        return earlier
    }

    /// Returns the parts that the server has from an earlier attempt. nil if that attempt was aborted, so that this one
    /// starts over.
    ///
    /// An unreadable list may have been truncated on its way. Or the server uses another format, and the next list
    /// would be unreadable too. After two unreadable lists in a row, the earlier attempt is aborted.
    func listedParts(of earlier: MultipartCheckpoint) async throws -> [ListPartsReply.Part]? {
        do {
            return try await client.parts(of: key, earlier.uploadID ?? "")
        } catch let error as StorageError where error.cause is UnreadableReply {
            var earlier = earlier
            let count = (earlier.unreadableLists ?? 0) + 1
            guard count > 1 else {
                earlier.unreadableLists = count
                try await session.save(earlier.encoded())
                throw error
            }
            try await client.abort(key, uploadID: earlier.uploadID ?? "")
            try await forget(earlier)
            return nil
        }
    }

    enum Beginning {
        /// The server confirms that it already has the object.
        case there(RemoteObject)
        case begun(MultipartCheckpoint)
    }

    func begin() async throws -> Beginning {
        let plan = try PartPlan(byteCount: source.byteCount, partSize: options.partSize, provider)
        if !session.replacesObject {
            let proof = proof(.likely(partSize: plan.partSize))
            if let object = try await proof.existing(key, client: client) { return .there(object) }
        }
        try await abortForgotten()
        var fields = try ObjectFields(options).make(for: source)
        try checksum.announce(in: &fields)
        let uploadID = try await client.createMultipart(key, fields: fields)
        let checkpoint = MultipartCheckpoint(
            uploadID: uploadID, source: source, partSize: plan.partSize, checksum)
        try await session.save(checkpoint.encoded())
        return .begun(checkpoint)
    }

    /// Aborts uploads of this key without a checkpoint. The server had started them, but its reply was lost.
    ///
    /// Keys are unique and only one process uploads. So an upload that does not run in this process does not run
    /// anywhere.
    private func abortForgotten() async throws {
        do {
            let reply = try await client.uploads(below: key.rawValue, after: nil)
            // This check follows the listing, so that the list does not contain an upload that starts in between.
            guard client.isAlone(key) else { return }
            for upload in reply.uploads where upload.key == client.location.prefix + key.rawValue {
                try await client.abort(key, uploadID: upload.uploadID)
            }
        } catch let failure as S3Failure where !failure.storageError.isRetryable || failure.isNoSuchUpload {
            // There is no such upload, the credentials do not allow listing, or the server does not support it. Such
            // uploads are left to `abandonUploads` and to the rules of the bucket.
            return
        } catch let error as StorageError where (error.cause as? UnreadableReply)?.isWhole == true {
            // The server uses another format and would answer the same again, so a retry cannot help.
            return
        }
    }

    // MARK: Parts

    private func upload(
        _ checkpoint: MultipartCheckpoint, listed: [ListPartsReply.Part]
    ) async throws -> RemoteObject {
        guard let plan = PartPlan(byteCount: checkpoint.byteCount, partSize: checkpoint.partSize) else {
            throw StorageError(.serverError, message: "The checkpoint of the upload is invalid.", key: key)
        }
        var known = checkpoint
        known.parts = [:]
        known.unreadableLists = nil
        let progress = MultipartProgress(known, session: session)
        let there = Dictionary(listed.map { ($0.number, $0) }) { first, _ in first }
        do {
            let crc64 = try await sendParts(plan, checkpoint: checkpoint, there: there, progress: progress)
            return try await complete(progress.checkpoint, crc64: crc64)
        } catch {
            try await giveUpIfUseless(checkpoint, error: error)
            throw error
        }
    }

    /// Uploads the missing parts. Returns the CRC-64/NVME of the bytes if the source has a recorded one. The recorded
    /// CRC may be wrong, so it is computed again.
    private func sendParts(
        _ plan: PartPlan, checkpoint: MultipartCheckpoint, there: [Int: ListPartsReply.Part],
        progress: MultipartProgress
    ) async throws -> String? {
        let digester = SourceDigester(source, kinds: checkpoint.checksum.kinds(provider))
        let parts = PartSending(plan, digester: digester, permits: permits)
        try await parts.run { part, digest in
            guard let listed = there[part.number],
                let entityTag = trusted(listed, part: part, digest: digest, noted: checkpoint.parts[part.number])
            else { return false }
            progress.has(part, word: .init(entityTag, digest: digest))
            return true
        } send: { part, digest in
            try await send(part, digest: digest, checkpoint: checkpoint, progress: progress)
        }
        return digester.crc64
    }

    /// Returns the tag of a part from an earlier attempt if the server's metadata matches the local bytes.
    func trusted(
        _ listed: ListPartsReply.Part, part: PartPlan.Part, digest: PayloadDigest,
        noted: MultipartCheckpoint.Part?
    ) -> EntityTag? {
        guard listed.byteCount == Int64(part.range.count) else { return nil }
        if let checksum = listed.checksumSHA256, let sha256 = digest.sha256 {
            return Base64.hex(checksum) == sha256 ? listed.entityTag : nil
        }
        if let checksum = listed.checksumCRC64, let crc64 = digest.crc64 {
            return checksum == Base64.text(hex: crc64) ? listed.entityTag : nil
        }
        let isNoted = noted?.entityTag == listed.entityTag.text && noted?.has(digest) == true
        let isMD5 = digest.md5 != nil && listed.entityTag.md5 == digest.md5
        return isNoted || isMD5 ? listed.entityTag : nil
    }

    private func send(
        _ part: PartPlan.Part, digest: PayloadDigest, checkpoint: MultipartCheckpoint,
        progress: MultipartProgress
    ) async throws {
        var request = S3Request(
            .put, key: key, query: [("partNumber", String(part.number)), ("uploadId", checkpoint.uploadID ?? "")])
        try checkpoint.checksum.prove(digest, provider: provider, in: &request)
        request.body = .source(source, range: part.range)
        request.onProgress = { progress.moved(part, to: $0) }
        do {
            let response = try await client.send(request)
            progress.has(part, word: .init(try prove(response, digest: digest), digest: digest))
        } catch {
            progress.lost(part)
            throw error
        }
        try await progress.save()
    }

    /// Returns the part's tag. The server's reply must not contradict the sent bytes. The whole object is verified at
    /// the end.
    private func prove(_ response: HTTPResponse, digest: PayloadDigest) throws(StorageError) -> EntityTag {
        guard let entityTag = response.headers["etag"].flatMap(EntityTag.init) else {
            throw StorageError(
                .serverError, message: "The server accepted a part but returned no tag for it.", key: key)
        }
        if let checksum = response.headers["x-amz-checksum-sha256"].flatMap(Base64.hex), let sha256 = digest.sha256 {
            guard checksum == sha256 else { throw StorageError.notProven(key) }
        } else if let checksum = response.headers["x-amz-checksum-crc64nvme"], let crc64 = digest.crc64 {
            guard checksum == Base64.text(hex: crc64) else { throw StorageError.notProven(key) }
        } else if provider.entityTagIsMD5, options.encryption == nil, let md5 = digest.md5 {
            guard entityTag.md5 == md5 else { throw StorageError.notProven(key) }
        }
        return entityTag
    }

    // MARK: Completion

    private func complete(_ checkpoint: MultipartCheckpoint, crc64: String?) async throws -> RemoteObject {
        let completion = MultipartCompletion(client: client, key: key, checkpoint: checkpoint, crc64: crc64)
        let proof = proof(.known(partSize: checkpoint.partSize))
        let onlyIfAbsent =
            provider.completesConditionally && !session.replacesObject
        let outcome: MultipartCompletion.Outcome
        do {
            outcome = try await completion.run(onlyIfAbsent: onlyIfAbsent)
        } catch let failure as S3Failure where failure.isUnmetCondition && onlyIfAbsent {
            let there = self.proof(.likely(partSize: checkpoint.partSize))
            if let object = try await there.existing(key, client: client) {
                try await client.abort(key, uploadID: checkpoint.uploadID ?? "")
                return object
            }
            outcome = try await completion.run(onlyIfAbsent: false)
        }
        guard outcome.isProven else { return try await proof.required(key, client: client) }
        return RemoteObject(
            key: key, byteCount: source.byteCount, sha256: source.sha256, entityTag: outcome.entityTag?.text,
            url: client.place.url(of: key))
    }

    /// Handles an upload that the server does not know. It was completed and only the reply was lost, or it was
    /// aborted.
    private func afterLostUpload(_ checkpoint: MultipartCheckpoint) async throws -> RemoteObject {
        let proof = proof(.likely(partSize: checkpoint.partSize))
        // The object may have been damaged after the server computed its checksum.
        if !session.replacesObject, let object = try await proof.existing(key, client: client) { return object }
        try await forget(checkpoint)
        throw StorageError(.serverError, message: "The server no longer has the upload, which starts over.", key: key)
    }

    /// Aborts an upload that no later attempt can complete. Its parts would otherwise stay on the server and cost
    /// money.
    private func giveUpIfUseless(_ checkpoint: MultipartCheckpoint, error: any Error) async throws {
        let failure = error as? S3Failure
        if failure?.isLostUpload == true || Task.isCancelled { return }
        let code = failure?.storageError.code ?? (error as? StorageError)?.code
        let isSpoiled = failure.map { [409].contains($0.status) || $0.isAboutParts } ?? false
        guard isSpoiled || code == .sourceChanged || code == .integrity else { return }
        try await client.abort(key, uploadID: checkpoint.uploadID ?? "")
        try await forget(checkpoint)
    }

    private func forget(_ checkpoint: MultipartCheckpoint) async throws {
        let empty = MultipartCheckpoint(
            uploadID: nil, source: source, partSize: checkpoint.partSize, checkpoint.checksum)
        try await session.save(empty.encoded())
    }
}

extension S3Failure {
    /// True if the server found that the parts do not fit together. A retry would not change that.
    fileprivate var isAboutParts: Bool { ["InvalidPart", "InvalidPartOrder", "EntityTooSmall"].contains(code) }
}

import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// Uploads a file in parts, several at once, and goes on where an earlier try was interrupted.
///
/// The order that makes it safe: the upload's id is durable before the first part goes out, each part's tag and
/// checksum after it, and the object appears when all parts are there. Nothing is believed of an earlier try but what
/// the server lists and what matches the local bytes.
struct MultipartUpload: Sendable {
    let client: S3Client
    let provider: S3Provider
    let options: S3Options
    let permits: Permits
    let key: ObjectKey
    let source: UploadSource
    let session: UploadSession

    private var checksum: MultipartChecksum {
        MultipartChecksum(provider, isSecure: client.place.origin.isSecure, source)
    }

    func run() async throws -> RemoteObject {
        client.began(key)
        defer { client.ended(key) }
        if let earlier = usableCheckpoint {
            do {
                if let listed = try await listedParts(of: earlier) { return try await upload(earlier, listed) }
            } catch let failure as S3Failure where failure.isLostUpload {
                return try await afterLostUpload(earlier)
            }
        }
        switch try await begin() {
        case .there(let object): return object
        case .begun(let checkpoint):
            do {
                return try await upload(checkpoint, [])
            } catch let failure as S3Failure where failure.isLostUpload {
                return try await afterLostUpload(checkpoint)
            }
        }
    }

    private func proof(_ layout: ObjectProof.Layout) -> ObjectProof {
        ObjectProof(
            source: source, tagsAreMD5: provider.entityTagIsMD5 && options.encryption == nil,
            partTagsAreMD5: provider.multipartTagIsMD5, layout: layout)
    }

    // MARK: The beginning

    private var usableCheckpoint: MultipartCheckpoint? {
        guard let earlier = session.checkpoint.flatMap(MultipartCheckpoint.init), earlier.uploadID != nil,
            earlier.sha256 == source.sha256, earlier.byteCount == source.byteCount,
            earlier.checksum == checksum,
            PartPlan(byteCount: earlier.byteCount, partSize: earlier.partSize) != nil
        else { return nil }
        return earlier
    }

    /// The parts that the server has of an earlier try; nil when that try was given up, and this one begins anew.
    ///
    /// A list that cannot be read may have been cut off on its way. Or the server writes such lists in another way, and
    /// the next one could not be read either. After the second such list in a row the earlier try is given up.
    private func listedParts(of earlier: MultipartCheckpoint) async throws -> [ListPartsReply.Part]? {
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
            try await client.abort(key, earlier.uploadID ?? "")
            try await forget(earlier)
            return nil
        }
    }

    private enum Beginning {
        /// The object is there, by the server's own word.
        case there(RemoteObject)
        case begun(MultipartCheckpoint)
    }

    private func begin() async throws -> Beginning {
        let plan = try PartPlan(byteCount: source.byteCount, partSize: options.partSize, provider)
        if !session.replacesObject {
            let proof = proof(.likely(partSize: plan.partSize))
            if let object = try await proof.existing(key, client) { return .there(object) }
        }
        try await abortForgotten()
        var fields = try ObjectFields(options).make(for: source)
        try checksum.announce(in: &fields)
        let uploadID = try await client.createMultipart(key, fields)
        let checkpoint = MultipartCheckpoint(
            uploadID: uploadID, source: source, partSize: plan.partSize, checksum)
        try await session.save(checkpoint.encoded())
        return .begun(checkpoint)
    }

    /// Aborts uploads of this key that no checkpoint knows. The server had begun them, but its answer was lost.
    ///
    /// Keys are unique and only one process uploads, so an upload that is not under way here is under way nowhere.
    private func abortForgotten() async throws {
        do {
            let reply = try await client.uploads(below: key.rawValue, after: nil)
            // This is asked after the listing, so that an upload which begins meanwhile is not in the list.
            guard client.isAlone(key) else { return }
            for upload in reply.uploads where upload.key == client.location.prefix + key.rawValue {
                try await client.abort(key, upload.uploadID)
            }
        } catch let failure as S3Failure where !failure.storageError.isRetryable || failure.isNoSuchUpload {
            // There is none, the credentials do not allow to list, or the server cannot. Such uploads are left to
            // `abandonUploads` and to the rules of the bucket.
            return
        } catch let error as StorageError where (error.cause as? UnreadableReply)?.isWhole == true {
            // The server writes such lists in another way and would answer the same again, so a retry cannot help.
            return
        }
    }

    // MARK: The parts

    private func upload(
        _ checkpoint: MultipartCheckpoint, _ listed: [ListPartsReply.Part]
    ) async throws -> RemoteObject {
        guard let plan = PartPlan(byteCount: checkpoint.byteCount, partSize: checkpoint.partSize) else {
            throw StorageError(.serverError, "The checkpoint of the upload makes no sense.", key: key)
        }
        var known = checkpoint
        (known.parts, known.unreadableLists) = ([:], nil)
        let progress = MultipartProgress(known, session)
        let there = Dictionary(listed.map { ($0.number, $0) }) { first, _ in first }
        do {
            let crc64 = try await sendParts(plan, checkpoint, there, progress)
            return try await complete(progress.checkpoint, crc64)
        } catch {
            try await giveUpIfUseless(checkpoint, error)
            throw error
        }
    }

    /// Returns the CRC-64/NVME of the whole, where one was recorded. The row's may be wrong; this is that of the bytes.
    private func sendParts(
        _ plan: PartPlan, _ checkpoint: MultipartCheckpoint, _ there: [Int: ListPartsReply.Part],
        _ progress: MultipartProgress
    ) async throws -> String? {
        let digester = SourceDigester(source, checkpoint.checksum.kinds(provider))
        let parts = PartSending(plan, digester, permits)
        try await parts.run { part, digest in
            guard let listed = there[part.number],
                let entityTag = trusted(listed, part, digest, checkpoint.parts[part.number])
            else { return false }
            progress.has(part, .init(entityTag, digest))
            return true
        } send: { part, digest in
            try await send(part, digest, checkpoint, progress)
        }
        return digester.crc64
    }

    /// The tag of a part of an earlier try, if the server's word and the local bytes agree.
    private func trusted(
        _ listed: ListPartsReply.Part, _ part: PartPlan.Part, _ digest: PayloadDigest,
        _ noted: MultipartCheckpoint.Part?
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
        _ part: PartPlan.Part, _ digest: PayloadDigest, _ checkpoint: MultipartCheckpoint,
        _ progress: MultipartProgress
    ) async throws {
        var request = S3Request(
            .put, key, query: [("partNumber", String(part.number)), ("uploadId", checkpoint.uploadID ?? "")])
        try checkpoint.checksum.prove(digest, provider, in: &request)
        request.body = .source(source, part.range)
        request.onProgress = { progress.moved(part, to: $0) }
        do {
            let response = try await client.send(request)
            progress.has(part, .init(try prove(response, digest), digest))
        } catch {
            progress.lost(part)
            throw error
        }
        try await progress.save()
    }

    /// What the server says of a part must not contradict what was sent; the whole is proven at the end.
    private func prove(_ response: HTTPResponse, _ digest: PayloadDigest) throws(StorageError) -> EntityTag {
        guard let entityTag = response.headers["etag"].flatMap(EntityTag.init) else {
            throw StorageError(.serverError, "The server took a part and gave no tag for it.", key: key)
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

    // MARK: The end

    private func complete(_ checkpoint: MultipartCheckpoint, _ crc64: String?) async throws -> RemoteObject {
        let completion = MultipartCompletion(client: client, key: key, checkpoint: checkpoint, crc64: crc64)
        let proof = proof(.known(partSize: checkpoint.partSize))
        let onlyIfAbsent =
            provider.completesConditionally && !session.replacesObject
        let outcome: MultipartCompletion.Outcome
        do {
            outcome = try await completion.run(onlyIfAbsent: onlyIfAbsent)
        } catch let failure as S3Failure where failure.status == 412 && onlyIfAbsent {
            let there = self.proof(.likely(partSize: checkpoint.partSize))
            if let object = try await there.existing(key, client) {
                try await client.abort(key, checkpoint.uploadID ?? "")
                return object
            }
            outcome = try await completion.run(onlyIfAbsent: false)
        }
        guard outcome.isProven else { return try await proof.required(key, client) }
        return RemoteObject(
            key: key, byteCount: source.byteCount, sha256: source.sha256, entityTag: outcome.entityTag?.text,
            url: client.place.url(of: key))
    }

    /// The server does not know the upload: it was completed, and only the answer was lost; or it was given up.
    private func afterLostUpload(_ checkpoint: MultipartCheckpoint) async throws -> RemoteObject {
        let proof = proof(.likely(partSize: checkpoint.partSize))
        // The object may have been damaged since the server has computed what it says of it.
        if !session.replacesObject, let object = try await proof.existing(key, client) { return object }
        try await forget(checkpoint)
        throw StorageError(.serverError, "The server has forgotten the upload; it begins anew.", key: key)
    }

    /// Aborts an upload that no later try can complete. Its parts would otherwise stay on the server and cost money.
    private func giveUpIfUseless(_ checkpoint: MultipartCheckpoint, _ error: any Error) async throws {
        let failure = error as? S3Failure
        if failure?.isLostUpload == true || Task.isCancelled { return }
        let code = failure?.storageError.code ?? (error as? StorageError)?.code
        let isSpoiled = failure.map { [409].contains($0.status) || $0.isAboutParts } ?? false
        guard isSpoiled || code == .sourceChanged || code == .integrity else { return }
        try await client.abort(key, checkpoint.uploadID ?? "")
        try await forget(checkpoint)
    }

    private func forget(_ checkpoint: MultipartCheckpoint) async throws {
        let empty = MultipartCheckpoint(
            uploadID: nil, source: source, partSize: checkpoint.partSize, checkpoint.checksum)
        try await session.save(empty.encoded())
    }
}

extension S3Failure {
    /// Whether the server found the parts not to fit together, which another try would not change.
    fileprivate var isAboutParts: Bool { ["InvalidPart", "InvalidPartOrder", "EntityTooSmall"].contains(code) }
}

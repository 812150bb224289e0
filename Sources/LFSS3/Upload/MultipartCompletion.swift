import Crypto
import Foundation
import LFSHTTP
import LFSStorage

/// Has the server put the parts together ("CompleteMultipartUpload" of the Amazon S3 API reference).
struct MultipartCompletion: Sendable {
    let client: S3Client
    let key: ObjectKey
    let checkpoint: MultipartCheckpoint

    /// Putting thousands of parts together takes the server minutes.
    private static let patience = Duration.seconds(300)

    /// What the server said of the object.
    struct Outcome: Sendable {
        let entityTag: EntityTag
        /// Whether that follows from the parts' digests, so that the object can only be made of them.
        let isProven: Bool
    }

    /// - Throws: ``S3Failure`` also for an error that came with the status 200.
    func run(onlyIfAbsent: Bool) async throws -> Outcome {
        let parts = try checkpoint.parts.map { number, part in
            guard let entityTag = EntityTag(part.entityTag) else {
                throw StorageError(.serverError, "A part has no tag.", key: key)
            }
            let checksum = checkpoint.hasChecksums ? Base64.text(hex: part.sha256) : nil
            return CompleteMultipartBody.Part(number: number, entityTag: entityTag, checksumSHA256: checksum)
        }
        let body = CompleteMultipartBody(parts).bytes
        var request = S3Request(.post, key, query: [("uploadId", checkpoint.uploadID ?? "")])
        try request.headers.set("content-type", "application/xml")
        if onlyIfAbsent { try request.headers.set("if-none-match", "*") }
        request.body = .bytes(body)
        request.payloadHash = Hex.text(SHA256.hash(data: body))
        request.stallTimeout = Self.patience
        let response = try await client.send(request)
        switch try CompleteMultipartReply(response.body) {
        case .completed(let entityTag, let checksum?):
            try require(checksum)
            return Outcome(entityTag: entityTag, isProven: true)
        case .completed(let entityTag, nil):
            return Outcome(entityTag: entityTag, isProven: entityTag.text.lowercased() == expectedEntityTag)
        case .failed(let reply):
            throw try await client.failure(response.head, reply, key)
        }
    }

    /// The entity tag of most servers: MD5 over the parts' MD5s, with `-` and the number of parts.
    private var expectedEntityTag: String? {
        var whole = Insecure.MD5()
        for number in checkpoint.parts.keys.sorted() {
            guard let bytes = checkpoint.parts[number]?.md5.flatMap(Hex.bytes) else { return nil }
            whole.update(data: bytes)
        }
        return "\(Hex.text(whole.finalize()))-\(checkpoint.parts.count)"
    }

    /// The checksum over the parts' checksums, where the server tells it.
    private func require(_ checksum: String) throws(StorageError) {
        var whole = SHA256()
        for number in checkpoint.parts.keys.sorted() {
            if let bytes = checkpoint.parts[number].flatMap({ Hex.bytes($0.sha256) }) { whole.update(data: bytes) }
        }
        let ours = Data(whole.finalize()).base64EncodedString()
        // Some servers leave the number of parts out.
        guard checksum == ours || checksum == "\(ours)-\(checkpoint.parts.count)" else {
            throw StorageError.notProven(key)
        }
    }
}

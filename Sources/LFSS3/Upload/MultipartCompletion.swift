import Crypto
import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// Has the server put the parts together ("CompleteMultipartUpload" of the Amazon S3 API reference).
struct MultipartCompletion: Sendable {
    let client: S3Client
    let key: ObjectKey
    let checkpoint: MultipartCheckpoint
    /// The CRC-64/NVME of the local bytes in hex; nil where it was not computed.
    let crc64: String?
    /// SHA-256 over the parts' SHA-256s in hex, where somebody else has them; nil to compute it from the checkpoint's.
    var partsSHA256: String?

    /// How long to wait for the answer: a server takes minutes to put thousands of parts together.
    private static let patience = Duration.seconds(300)

    /// What the server said of the object.
    struct Outcome: Sendable {
        let entityTag: EntityTag?
        /// Whether the server's answer is computed from the parts' digests, which proves that it has these parts.
        let isProven: Bool
        /// Whether it told a checksum, which is the right one.
        let hasChecksum: Bool
    }

    /// - Throws: ``S3Failure`` also for an error that came with the status 200.
    func run(onlyIfAbsent: Bool) async throws -> Outcome {
        let parts = try checkpoint.parts.map { number, part in
            guard let entityTag = EntityTag(part.entityTag) else {
                throw StorageError(.serverError, "A part has no tag.", key: key)
            }
            let checksum = checkpoint.checksum == .sha256 ? part.sha256.flatMap(Base64.text) : nil
            return CompleteMultipartBody.Part(number: number, entityTag: entityTag, checksumSHA256: checksum)
        }
        let body = CompleteMultipartBody(parts).bytes
        var request = S3Request(.post, key, query: [("uploadId", checkpoint.uploadID ?? "")])
        try request.headers.set("content-type", "application/xml")
        if onlyIfAbsent { try request.headers.set("if-none-match", "*") }
        if checkpoint.checksum == .crc64NVME {
            try request.headers.set(crc64: crc64)
            try request.headers.set("x-amz-checksum-type", "FULL_OBJECT")
        }
        request.body = .bytes(body)
        request.payloadHash = Hex.text(SHA256.hash(data: body))
        request.stallTimeout = Self.patience
        let response = try await client.send(request)
        switch try CompleteMultipartReply(response.body) {
        case .completed(let completed):
            let hasChecksum = try hasRightChecksum(completed)
            return Outcome(
                entityTag: completed.entityTag, isProven: hasChecksum || isExpected(completed.entityTag),
                hasChecksum: hasChecksum)
        case .failed(let reply):
            throw try await client.failure(response.head, reply, key)
        }
    }

    /// Whether it is the entity tag of most servers: MD5 over the parts' MD5s, with `-` and the number of parts.
    private func isExpected(_ entityTag: EntityTag?) -> Bool {
        guard let parts = entityTag?.md5OfParts, parts.count == checkpoint.parts.count else { return false }
        return parts.md5 == ObjectProof.md5(overParts: inOrder.map(\.md5))
    }

    /// The checksum over the parts' checksums, or over the whole, where the server tells it.
    private func require(_ checksum: String) throws(StorageError) {
        let ours = (partsSHA256 ?? ObjectProof.sha256(overParts: inOrder.map(\.sha256))).flatMap(Base64.text)
        // Some servers leave the number of parts out.
        let isOfParts = ours.map { checksum == $0 || checksum == "\($0)-\(checkpoint.parts.count)" } ?? false
        guard isOfParts || checksum == Base64.text(hex: checkpoint.sha256) else { throw StorageError.notProven(key) }
    }

    /// False when the server tells no checksum that can be compared.
    private func hasRightChecksum(_ completed: CompleteMultipartReply.Completed) throws(StorageError) -> Bool {
        if let checksum = completed.checksumSHA256 { try require(checksum) }
        guard let checksum = completed.checksumCRC64, let crc64 else { return completed.checksumSHA256 != nil }
        guard checksum == Base64.text(hex: crc64) else { throw StorageError.notProven(key) }
        return true
    }

    private var inOrder: [MultipartCheckpoint.Part] {
        checkpoint.parts.sorted { $0.key < $1.key }.map(\.value)
    }
}

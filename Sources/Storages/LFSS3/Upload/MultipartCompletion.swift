import Crypto
import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// The completion of a multipart upload ("CompleteMultipartUpload" of the Amazon S3 API reference).
struct MultipartCompletion: Sendable {
    let client: S3Client
    let key: ObjectKey
    let checkpoint: MultipartCheckpoint
    /// The CRC-64/NVME of the local bytes in hex, or nil if it was not computed.
    let crc64: String?
    /// The SHA-256 of the parts' SHA-256s in hex, if the caller knows it. nil computes it from the checkpoint.
    var partsSHA256: String?

    /// The timeout for the reply. A server needs minutes to assemble thousands of parts.
    private static let patience = Duration.seconds(300)

    /// The server's reply about the object.
    struct Outcome: Sendable {
        let entityTag: EntityTag?
        /// True if the server computed its reply from the parts' digests, which confirms that it has these parts.
        let isProven: Bool
        /// True if the reply contains a checksum, which has been compared.
        let hasChecksum: Bool
    }

    /// - Throws: ``S3Failure``, including errors in a reply with the status 200.
    func run(onlyIfAbsent: Bool) async throws -> Outcome {
        let parts = try checkpoint.parts.map { number, part in
            guard let entityTag = EntityTag(part.entityTag) else {
                throw StorageError(.serverError, message: "A part has no tag.", key: key)
            }
            let checksum = checkpoint.checksum == .sha256 ? part.sha256.flatMap(Base64.text) : nil
            return CompleteMultipartBody.Part(number: number, entityTag: entityTag, checksumSHA256: checksum)
        }
        let body = CompleteMultipartBody(parts).bytes
        var request = S3Request(.post, key: key, query: [("uploadId", checkpoint.uploadID ?? "")])
        try request.headers.set("content-type", value: "application/xml")
        if onlyIfAbsent { try request.headers.set("if-none-match", value: "*") }
        if checkpoint.checksum == .crc64NVME {
            try request.headers.set(crc64: crc64)
            try request.headers.set("x-amz-checksum-type", value: "FULL_OBJECT")
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
            throw try await client.failure(response.head, reply: reply, key: key)
        }
    }

    /// Returns true for the entity tag of most servers: the MD5 of the parts' MD5s, with `-` and the number of parts.
    private func isExpected(_ entityTag: EntityTag?) -> Bool {
        guard let parts = entityTag?.md5OfParts, parts.count == checkpoint.parts.count else { return false }
        return parts.md5 == ObjectConfirmation.md5(overParts: inOrder.map(\.md5))
    }

    /// Requires that the server's checksum is that of the parts or of the whole object.
    private func require(_ checksum: String) throws(StorageError) {
        let ours = (partsSHA256 ?? ObjectConfirmation.sha256(overParts: inOrder.map(\.sha256))).flatMap(Base64.text)
        // Some servers omit the number of parts.
        let isOfParts = ours.map { checksum == $0 || checksum == "\($0)-\(checkpoint.parts.count)" } ?? false
        guard isOfParts || checksum == Base64.text(hex: checkpoint.sha256) else { throw StorageError.notProven(key) }
    }

    /// Returns false if the reply has no checksum that can be compared.
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

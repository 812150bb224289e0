import Foundation
import LFSHTTP
package import LFSHTTPStorage
package import LFSStorage

/// Requests for others to send. All of their fields are signed, so that length, content and condition are bound:
/// "Authenticating Requests: Using Query Parameters" in the Amazon S3 API reference.
extension S3Storage {
    /// Whether an object that comes with one request has to be announced with its MD5: as what proves the bytes, or as
    /// what the server compares.
    package var wantsMD5: Bool { !provider.keepsChecksums || provider.checksumHeader == .contentMD5 }

    /// Whether parts have to be: as above, or since the server tells of parts that it has only their MD5s.
    package var wantsPartMD5: Bool { wantsMD5 || !provider.listsPartChecksums }

    /// Whether of several who create an object at the same time one wins.
    package var createsAtomically: Bool { provider.conditionalWrites && provider.atomicCreation }

    /// A PUT of an object.
    ///
    /// - Parameter replaces: whether there may be one already. Where the server knows no such condition it is left out.
    /// - Throws: `StorageError`.
    package func presignedUpload(
        of bytes: AnnouncedBytes, to key: ObjectKey, replaces: Bool, expires: Duration
    ) async throws -> PresignedRequest {
        try await translatingFailures(key) {
            var fields = try ObjectFields(options).make(contentType: bytes.contentType, sha256: bytes.sha256)
            if !replaces, provider.conditionalWrites { try fields.set("if-none-match", "*") }
            return try await presigned(bytes, key, query: [], fields, expires)
        }
    }

    /// A PUT of a part.
    ///
    /// - Throws: `StorageError`.
    package func presignedPart(
        _ number: Int, of upload: String, _ bytes: AnnouncedBytes, to key: ObjectKey, expires: Duration
    ) async throws -> PresignedRequest {
        try await translatingFailures(key) {
            try await presigned(
                bytes, key, query: [("partNumber", String(number)), ("uploadId", upload)], [:], expires)
        }
    }

    /// A GET of an object. Its ranges and conditions are not signed.
    ///
    /// - Throws: `StorageError`.
    package func presignedDownload(of key: ObjectKey, expires: Duration) async throws -> PresignedRequest {
        let url = try await downloadURL(for: key, expires: expires)
        return PresignedRequest(url: url.absoluteString, headers: [:], proof: nil, lifetime: expires)
    }

    private func presigned(
        _ bytes: AnnouncedBytes, _ key: ObjectKey, query: [(name: String, value: String)], _ fields: HTTPHeaders,
        _ expires: Duration
    ) async throws -> PresignedRequest {
        var fields = fields
        try fields.set("content-length", String(bytes.byteCount))
        try fields.set(provider.checksumHeader, sha256: bytes.sha256, md5: bytes.md5)
        fields = try provider.dialect.translated(fields, of: .put)
        let url = try await client.presign(.put, key, query: query, headers: fields, expires: expires)
        let headers = Dictionary(fields.fields.map { ($0.name, $0.value) }) { first, _ in first }
        return PresignedRequest(
            url: url.absoluteString, headers: headers, proof: proof(of: bytes), lifetime: expires)
    }

    private func proof(of bytes: AnnouncedBytes) -> PresignedRequest.Proof? {
        if provider.checksumHeader == .sha256, provider.keepsChecksums, let checksum = Base64.text(hex: bytes.sha256) {
            return .init(header: "x-amz-checksum-sha256", value: checksum)
        }
        guard provider.entityTagIsMD5, options.encryption == nil, let md5 = bytes.md5 else { return nil }
        return .init(header: "etag", value: md5)
    }
}

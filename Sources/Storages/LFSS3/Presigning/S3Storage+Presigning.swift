import Foundation
import LFSHTTP
package import LFSHTTPStorage
package import LFSStorage

/// Presigned requests for other clients. The signature covers all fields, so length, content and condition are fixed.
///
/// Source: "Authenticating Requests: Using Query Parameters" in the Amazon S3 API reference.
extension S3Storage {
    /// True if clients must announce the MD5 of an object that is uploaded with one request. It serves as the
    /// confirmation, or as the checksum that the server compares.
    package var wantsMD5: Bool { !provider.keepsChecksums || provider.checksumHeader == .contentMD5 }

    /// True if clients must announce the MD5 of parts: as in ``wantsMD5``, or because the server lists only MD5s of
    /// parts.
    package var wantsPartMD5: Bool { wantsMD5 || !provider.listsPartChecksums }

    /// True if only one of several clients that create the same object concurrently succeeds.
    package var createsAtomically: Bool { provider.conditionalWrites && provider.atomicCreation }

    /// Returns a PUT of an object.
    ///
    /// - Parameter replaces: true if the key may already have an object. If false, the request contains a condition,
    ///   unless the server does not support one.
    /// - Throws: `StorageError`.
    package func presignedUpload(
        of bytes: DeclaredContent, to key: ObjectKey, replaces: Bool, expires: Duration
    ) async throws -> PresignedRequest {
        try await translatingFailures(key) {
            var fields = try ObjectFields(options).make(contentType: bytes.contentType, sha256: bytes.sha256)
            if !replaces, provider.conditionalWrites { try fields.set("if-none-match", value: "*") }
            return try await presigned(bytes, key: key, query: [], fields: fields, expires: expires)
        }
    }

    /// Returns a PUT of a part.
    ///
    /// - Throws: `StorageError`.
    package func presignedPart(
        _ number: Int, of upload: String, bytes: DeclaredContent, to key: ObjectKey, expires: Duration
    ) async throws -> PresignedRequest {
        try await translatingFailures(key) {
            try await presigned(
                bytes, key: key, query: [("partNumber", String(number)), ("uploadId", upload)], fields: [:],
                expires: expires)
        }
    }

    /// Returns a GET of an object. Ranges and conditions are not signed, so the client may add them.
    ///
    /// - Throws: `StorageError`.
    package func presignedDownload(of key: ObjectKey, expires: Duration) async throws -> PresignedRequest {
        let url = try await downloadURL(for: key, expires: expires)
        return PresignedRequest(url: url.absoluteString, headers: [:], proof: nil, lifetime: expires)
    }

    private func presigned(
        _ bytes: DeclaredContent, key: ObjectKey, query: [(name: String, value: String)], fields: HTTPHeaders,
        expires: Duration
    ) async throws -> PresignedRequest {
        var fields = fields
        try fields.set(provider.checksumHeader, sha256: bytes.sha256, md5: bytes.md5)
        return try await client.presignedPut(
            key, query: query, fields: fields, byteCount: bytes.byteCount, includesLength: true,
            proof: proof(of: bytes), expires: expires)
    }

    private func proof(of bytes: DeclaredContent) -> PresignedRequest.Proof? {
        if provider.checksumHeader == .sha256, provider.keepsChecksums, let checksum = Base64.text(hex: bytes.sha256) {
            return .init(header: "x-amz-checksum-sha256", value: checksum)
        }
        guard provider.entityTagIsMD5, options.encryption == nil, let md5 = bytes.md5 else { return nil }
        return .init(header: "etag", value: md5)
    }
}

import Crypto
import Foundation
import LFSHTTP
package import LFSHTTPStorage
package import LFSStorage

/// Operations for clients that send the bytes themselves with presigned requests.
extension S3Storage {
    /// A part that the server has.
    package struct StoredPart: Sendable {
        package let number: Int
        package let byteCount: Int64
        /// The part's SHA-256 in hex, as reported by the server.
        package let sha256: String?
        package let md5: String?
        fileprivate let entityTag: EntityTag
    }

    /// The limits for parts, or nil if the server does not support multipart uploads.
    package var partLimits: PartLimits? {
        guard provider.supportsMultipart else { return nil }
        return PartLimits(
            maximumCount: provider.maximumPartCount, minimumSize: provider.minimumPartSize, maximumSize: 5 << 30)
    }

    /// The object size in bytes from which objects are uploaded in parts.
    package var partThreshold: Int64 { max(options.multipartThreshold, 1) }
    /// The configured size of a part in bytes. nil derives it from the file's size.
    package var wantedPartSize: Int64? { options.partSize }

    /// Compares an object with bytes that are not on this machine.
    ///
    /// - Throws: `StorageError.Code.missing`, and other errors of the storage.
    package func compare(_ key: ObjectKey, with bytes: DeclaredContent) async throws -> ObjectComparison {
        try await translatingFailures(key) {
            let stored = try await client.described(key)
            var object = stored.remoteObject(key, at: client.place)
            guard object.byteCount == bytes.byteCount else { return .other }
            if let sha256 = object.sha256 { return sha256 == bytes.sha256 ? .same(object) : .other }
            // An equal tag proves that the bytes are equal. A different tag proves nothing, because it may not be an
            // MD5.
            guard let md5 = bytes.md5, stored.entityTag?.md5 == md5 else { return .unknown(object) }
            object.sha256 = bytes.sha256
            return .same(object)
        }
    }

    /// Returns true if the server's metadata shows that an object consists of the caller's parts.
    ///
    /// - Parameters:
    ///   - partsSHA256: the SHA-256 of the parts' SHA-256s, in hex.
    ///   - partsMD5: the MD5 of the parts' MD5s, in hex.
    /// - Throws: `StorageError`.
    package func isMade(
        _ key: ObjectKey, of bytes: DeclaredContent, partCount: Int, partsSHA256: String, partsMD5: String?
    ) async throws -> Bool {
        try await translatingFailures(key) {
            do {
                let stored = try await client.described(key)
                guard stored.byteCount == bytes.byteCount else { return false }
                return stored.words.contains { word in
                    switch word {
                    case .sha256(let hex): hex == bytes.sha256
                    case .sha256OfParts(let hex, let count): hex == partsSHA256 && (count ?? partCount) == partCount
                    case .md5OfParts(let hex, let count): hex == partsMD5 && count == partCount
                    case .md5, .check: false
                    }
                }
            } catch let failure as S3Failure where failure.storageError.isMissing {
                return false
            }
        }
    }

    /// Deletes an object if it is still the same version.
    ///
    /// With conditional requests, the server guarantees that another version is kept. Otherwise this method compares
    /// the entity tag before it deletes.
    ///
    /// - Throws: `StorageError`.
    package func remove(_ object: RemoteObject) async throws {
        try await translatingFailures(object.key) {
            do {
                guard let tag = try await client.described(object.key).entityTag, tag.text == object.entityTag else {
                    return
                }
                try await client.delete(object.key, entityTag: provider.conditionalWrites ? tag : nil)
            } catch let failure as S3Failure where failure.isUnmetCondition || failure.storageError.isMissing {
                // Another client has replaced or deleted the object.
            }
        }
    }

    /// Creates a small object if the key has no object yet.
    ///
    /// - Returns: false if the key already has an object.
    /// - Throws: `StorageError`.
    package func create(_ key: ObjectKey, bytes: [UInt8]) async throws -> Bool {
        try await translatingFailures(key) {
            var request = S3Request(.put, key: key)
            let sha256 = Hex.text(SHA256.hash(data: bytes))
            try request.headers.set("if-none-match", value: "*")
            let md5 = Hex.text(Data(Insecure.MD5.hash(data: bytes)))
            try request.headers.set(provider.checksumHeader, sha256: sha256, md5: md5)
            request.body = .bytes(bytes)
            request.payloadHash = sha256
            do {
                _ = try await client.send(request)
                return true
            } catch let failure as S3Failure where failure.isUnmetCondition {
                return false
            }
        }
    }

    /// Starts a multipart upload and returns its upload ID.
    ///
    /// - Throws: `StorageError`.
    package func beginParts(of bytes: DeclaredContent, to key: ObjectKey) async throws -> String {
        try await translatingFailures(key) {
            var fields = try ObjectFields(options).make(contentType: bytes.contentType, sha256: bytes.sha256)
            try checksum.announce(in: &fields)
            return try await client.createMultipart(key, fields: fields)
        }
    }

    /// The checksum of new multipart uploads.
    ///
    /// An upload that was started with a checksum must be completed with the checksums of all parts. Only a server that
    /// lists them can provide them. Without it, each part is still compared with its own checksum.
    private var checksum: MultipartChecksum {
        provider.checksumHeader == .sha256 && provider.listsPartChecksums ? .sha256 : .none
    }

    /// Returns the parts that the server has, ordered by number. nil if the server does not know the upload.
    ///
    /// - Throws: `StorageError`.
    package func parts(of upload: String, to key: ObjectKey) async throws -> [StoredPart]? {
        try await translatingFailures(key) {
            do {
                return try await client.parts(of: key, upload).map {
                    // A tag may only look like an MD5. An equal tag confirms a part, but a different one proves
                    // nothing.
                    StoredPart(
                        number: $0.number, byteCount: $0.byteCount, sha256: $0.checksumSHA256.flatMap(Base64.hex),
                        md5: $0.entityTag.md5, entityTag: $0.entityTag)
                }
                .sorted { $0.number < $1.number }
            } catch let failure as S3Failure where failure.isLostUpload {
                return nil
            }
        }
    }

    /// The result of completing a multipart upload.
    package enum Completion: Sendable {
        /// The server has the object. `isProven` is true if the server reported a checksum that matches the caller's
        /// parts.
        case done(entityTag: String?, isProven: Bool)
        /// The server does not know the upload.
        case lost
        /// The key already has an object.
        case taken
    }

    /// Completes a multipart upload.
    ///
    /// - Parameter partsSHA256: the SHA-256 of the parts' SHA-256s in hex, which is compared with the server's
    ///   checksum.
    /// - Throws: `StorageError`.
    package func complete(
        _ upload: String, parts: [StoredPart], to key: ObjectKey, bytes: DeclaredContent, partSize: Int64,
        partsSHA256: String, replaces: Bool
    ) async throws -> Completion {
        try await translatingFailures(key) {
            var checkpoint = MultipartCheckpoint(
                uploadID: upload, byteCount: bytes.byteCount, sha256: bytes.sha256, partSize: partSize, checksum)
            for part in parts {
                let digest = PayloadDigest(sha256: part.sha256, md5: part.md5)
                checkpoint.parts[part.number] = .init(part.entityTag, digest: digest)
            }
            let completion = MultipartCompletion(
                client: client, key: key, checkpoint: checkpoint, crc64: nil, partsSHA256: partsSHA256)
            do {
                let outcome = try await completion.run(onlyIfAbsent: provider.completesConditionally && !replaces)
                return .done(entityTag: outcome.entityTag?.text, isProven: outcome.hasChecksum)
            } catch let failure as S3Failure where failure.isLostUpload {
                return .lost
            } catch let failure as S3Failure where failure.isUnmetCondition {
                return .taken
            }
        }
    }

    /// Aborts a multipart upload.
    ///
    /// - Throws: `StorageError`.
    package func abort(_ upload: String, to key: ObjectKey) async throws {
        try await translatingFailures(key) { try await client.abort(key, uploadID: upload) }
    }
}

import Crypto
import Foundation
import LFSHTTP
package import LFSHTTPStorage
package import LFSStorage

/// What is done for those who send the bytes with requests that were signed for them.
extension S3Storage {
    /// A part that the server has.
    package struct StoredPart: Sendable {
        package let number: Int
        package let byteCount: Int64
        /// By the server's word; in hex.
        package let sha256: String?
        package let md5: String?
        fileprivate let entityTag: EntityTag
    }

    /// How parts are cut.
    package var partLimits: PartLimits? {
        guard provider.supportsMultipart else { return nil }
        return PartLimits(
            maximumCount: provider.maximumPartCount, minimumSize: provider.minimumPartSize, maximumSize: 5 << 30)
    }

    /// From this size on objects come in parts.
    package var partThreshold: Int64 { max(options.multipartThreshold, 1) }
    /// The size of a part that is asked for; nil lets the file's size decide.
    package var wantedPartSize: Int64? { options.partSize }

    /// Compares an object with bytes that are not here.
    ///
    /// - Throws: `StorageError.Code.missing`, and others.
    package func compare(_ key: ObjectKey, with bytes: AnnouncedBytes) async throws -> ObjectComparison {
        try await translatingFailures(key) {
            let stored = try await client.described(key)
            var object = stored.remoteObject(key, at: client.place)
            guard object.byteCount == bytes.byteCount else { return .other }
            if let sha256 = object.sha256 { return sha256 == bytes.sha256 ? .same(object) : .other }
            guard provider.entityTagIsMD5 || provider.checksumHeader == .contentMD5, options.encryption == nil,
                let md5 = bytes.md5, stored.entityTag?.md5 == md5
            else { return .unknown(object) }
            object.sha256 = bytes.sha256
            return .same(object)
        }
    }

    /// Makes an object of a few bytes, if there is none under the key.
    ///
    /// - Returns: false when there is one.
    /// - Throws: `StorageError`.
    package func create(_ key: ObjectKey, _ bytes: [UInt8]) async throws -> Bool {
        try await translatingFailures(key) {
            var request = S3Request(.put, key)
            let sha256 = Hex.text(SHA256.hash(data: bytes))
            try request.headers.set("if-none-match", "*")
            let md5 = Hex.text(Data(Insecure.MD5.hash(data: bytes)))
            try request.headers.set(provider.checksumHeader, sha256: sha256, md5: md5)
            request.body = .bytes(bytes)
            request.payloadHash = sha256
            do {
                _ = try await client.send(request)
                return true
            } catch let failure as S3Failure where failure.status == 412 {
                return false
            }
        }
    }

    /// Begins an upload in parts and returns the server's name for it.
    ///
    /// - Throws: `StorageError`.
    package func beginParts(of bytes: AnnouncedBytes, to key: ObjectKey) async throws -> String {
        try await translatingFailures(key) {
            var fields = try ObjectFields(options).make(contentType: bytes.contentType, sha256: bytes.sha256)
            try checksum.announce(in: &fields)
            return try await client.createMultipart(key, fields)
        }
    }

    /// An upload that was begun with a checksum has to be completed with those of all parts, which only a server that
    /// lists them tells. Each part is compared with its own all the same.
    private var checksum: MultipartChecksum {
        provider.checksumHeader == .sha256 && provider.listsPartChecksums ? .sha256 : .none
    }

    /// The parts that the server has, in the order of their numbers; nil when it does not know the upload.
    ///
    /// - Throws: `StorageError`.
    package func parts(of upload: String, to key: ObjectKey) async throws -> [StoredPart]? {
        try await translatingFailures(key) {
            do {
                return try await client.parts(of: key, upload).map {
                    // A tag that only looks like an MD5 is none of the caller's parts', which are sent again then.
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

    /// How putting parts together ended.
    package enum Completion: Sendable {
        /// The server has the object.
        case done
        /// It does not know the upload.
        case lost
        /// There is an object already.
        case taken
    }

    /// Puts the parts together.
    ///
    /// - Parameter partsSHA256: SHA-256 over the parts' SHA-256s in hex, with which the server's checksum is compared.
    /// - Throws: `StorageError`.
    package func complete(
        _ upload: String, _ parts: [StoredPart], to key: ObjectKey, _ bytes: AnnouncedBytes, partSize: Int64,
        partsSHA256: String, replaces: Bool
    ) async throws -> Completion {
        try await translatingFailures(key) {
            var checkpoint = MultipartCheckpoint(
                uploadID: upload, byteCount: bytes.byteCount, sha256: bytes.sha256, partSize: partSize, checksum)
            for part in parts {
                let digest = PayloadDigest(sha256: part.sha256, md5: part.md5)
                checkpoint.parts[part.number] = .init(part.entityTag, digest)
            }
            let completion = MultipartCompletion(
                client: client, key: key, checkpoint: checkpoint, crc64: nil, partsSHA256: partsSHA256)
            do {
                _ = try await completion.run(onlyIfAbsent: provider.completesConditionally && !replaces)
                return .done
            } catch let failure as S3Failure where failure.isLostUpload {
                return .lost
            } catch let failure as S3Failure where failure.status == 412 {
                return .taken
            }
        }
    }

    /// Gives an upload in parts up.
    ///
    /// - Throws: `StorageError`.
    package func abort(_ upload: String, to key: ObjectKey) async throws {
        try await translatingFailures(key) { try await client.abort(key, upload) }
    }
}

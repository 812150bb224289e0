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
            // One that is another may be no MD5 at all; one that is the same can be nothing else.
            guard let md5 = bytes.md5, stored.entityTag?.md5 == md5 else { return .unknown(object) }
            object.sha256 = bytes.sha256
            return .same(object)
        }
    }

    /// Whether an object was made of the caller's parts, by the server's word on the object itself.
    ///
    /// - Parameters:
    ///   - partsSHA256: SHA-256 over the parts' SHA-256s in hex.
    ///   - partsMD5: MD5 over the parts' MD5s in hex.
    /// - Throws: `StorageError`.
    package func isMade(
        _ key: ObjectKey, of bytes: AnnouncedBytes, partCount: Int, partsSHA256: String, partsMD5: String?
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

    /// Removes an object if it is still this one. Another one stays, where the server compares as it is told; elsewhere
    /// as far as it is seen before.
    ///
    /// - Throws: `StorageError`.
    package func remove(_ object: RemoteObject) async throws {
        try await translatingFailures(object.key) {
            do {
                guard let tag = try await client.described(object.key).entityTag, tag.text == object.entityTag else {
                    return
                }
                try await client.delete(object.key, entityTag: provider.conditionalWrites ? tag : nil)
            } catch let failure as S3Failure where failure.status == 412 || failure.storageError.isMissing {
                // Somebody has put another one there, or has removed it.
            }
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
                    // A tag may only look like an MD5. It proves a part that has it, and nothing of another one.
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
        /// The server has the object. Its entity tag, and whether the server told a checksum, which is that of the
        /// caller's parts.
        case done(entityTag: String?, isProven: Bool)
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
                let outcome = try await completion.run(onlyIfAbsent: provider.completesConditionally && !replaces)
                return .done(entityTag: outcome.entityTag?.text, isProven: outcome.hasChecksum)
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

import Foundation
import LFSHTTP
package import LFSHTTPStorage
package import LFSStorage

/// Operations for clients that send the bytes themselves with presigned requests.
extension AzureStorage {
    /// Compares an object with bytes that are not on this machine, based on the service's metadata.
    ///
    /// - Throws: `StorageError.Code.missing`, and other errors of the storage.
    package func compare(_ key: ObjectKey, with bytes: DeclaredContent) async throws -> ObjectComparison {
        try await translatingFailures(key) {
            let stored = try await client.described(key)
            guard stored.byteCount == bytes.byteCount else { return .other }
            let object = stored.remoteObject(key, at: client.place)
            // The MD5 of a blob with blocks is not computed by the service. Any client may have written it.
            guard let md5 = bytes.md5, let word = stored.md5, let list = try await client.blocks(of: key),
                list.committed.isEmpty
            else { return .unknown(object) }
            return word == md5 ? .same(stored.remoteObject(key, at: client.place, sha256: bytes.sha256)) : .other
        }
    }

    /// Returns an object with the SHA-256 in hex that its uploader announced. No one has compared this SHA-256.
    ///
    /// - Throws: `StorageError`.
    package func announced(_ key: ObjectKey) async throws -> (object: RemoteObject, sha256: String?) {
        try await translatingFailures(key) {
            let stored = try await client.described(key)
            return (stored.remoteObject(key, at: client.place), stored.announcedSHA256)
        }
    }

    /// Deletes an object if it is still the same version. Another version is kept.
    ///
    /// - Throws: `StorageError`.
    package func remove(_ object: RemoteObject) async throws {
        try await translatingFailures(object.key) {
            do {
                try await client.delete(object.key, entityTag: object.entityTag.flatMap(EntityTag.init))
            } catch let failure as AzureFailure where failure.isTaken {
                // Another client has replaced the object.
            }
        }
    }

    /// Creates a small object if the key has no object yet.
    ///
    /// - Returns: false if the key already has an object.
    /// - Throws: `StorageError`.
    package func create(_ key: ObjectKey, bytes: [UInt8]) async throws -> Bool {
        try await translatingFailures(key) {
            var request = AzureRequest(.put, key: key)
            try request.headers.set("x-ms-blob-type", value: "BlockBlob")
            try request.headers.set("if-none-match", value: "*")
            try request.headers.set(ContentCRC64.field, value: ContentCRC64(of: bytes).text)
            request.body = .bytes(bytes)
            do {
                let response = try await client.send(request)
                guard response.status == 201 else {
                    throw StorageError(
                        .serverError, message: "The server answered \(response.status) to an upload.", key: key)
                }
                return true
            } catch let failure as AzureFailure where failure.isTaken {
                return false
            }
        }
    }
}

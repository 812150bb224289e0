import Foundation
import LFSHTTP
package import LFSHTTPStorage
package import LFSStorage

/// What is done for those who send the bytes with requests that were signed for them.
extension AzureStorage {
    /// Compares an object with bytes that are not here, by the service's own word.
    ///
    /// - Throws: `StorageError.Code.missing`, and others.
    package func compare(_ key: ObjectKey, with bytes: AnnouncedBytes) async throws -> ObjectComparison {
        try await translatingFailures(key) {
            let stored = try await client.described(key)
            guard stored.byteCount == bytes.byteCount else { return .other }
            let object = stored.remoteObject(key, at: client.place)
            // The MD5 of a blob of blocks is what somebody has written there.
            guard let md5 = bytes.md5, let word = stored.md5, let list = try await client.blocks(of: key),
                list.committed.isEmpty
            else { return .unknown(object) }
            return word == md5 ? .same(stored.remoteObject(key, at: client.place, sha256: bytes.sha256)) : .other
        }
    }

    /// An object, and the SHA-256 in hex that whoever has sent it has announced; nobody has compared it.
    ///
    /// - Throws: `StorageError`.
    package func announced(_ key: ObjectKey) async throws -> (object: RemoteObject, sha256: String?) {
        try await translatingFailures(key) {
            let stored = try await client.described(key)
            return (stored.remoteObject(key, at: client.place), stored.announcedSHA256)
        }
    }

    /// Removes an object if it is still this one. Another one stays.
    ///
    /// - Throws: `StorageError`.
    package func remove(_ object: RemoteObject) async throws {
        try await translatingFailures(object.key) {
            do {
                try await client.delete(object.key, entityTag: object.entityTag.flatMap(EntityTag.init))
            } catch let failure as AzureFailure where failure.isTaken {
                // Somebody has put another one there.
            }
        }
    }

    /// Makes an object of a few bytes, if there is none under the key.
    ///
    /// - Returns: false when there is one.
    /// - Throws: `StorageError`.
    package func create(_ key: ObjectKey, _ bytes: [UInt8]) async throws -> Bool {
        try await translatingFailures(key) {
            var request = AzureRequest(.put, key)
            try request.headers.set("x-ms-blob-type", "BlockBlob")
            try request.headers.set("if-none-match", "*")
            try request.headers.set(ContentCRC64.field, ContentCRC64(of: bytes).text)
            request.body = .bytes(bytes)
            do {
                let response = try await client.send(request)
                guard response.status == 201 else {
                    throw StorageError(.serverError, "The server answered \(response.status) to an upload.", key: key)
                }
                return true
            } catch let failure as AzureFailure where failure.isTaken {
                return false
            }
        }
    }
}

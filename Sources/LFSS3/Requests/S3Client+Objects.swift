import LFSHTTP
import LFSStorage

extension S3Client {
    /// Asks for an object's description ("HeadObject" of the Amazon S3 API reference).
    ///
    /// - Throws: ``StorageError/Code/missing``.
    func stored(_ key: ObjectKey) async throws -> StoredObject {
        var request = S3Request(.head, key)
        try request.headers.set("x-amz-checksum-mode", "ENABLED")
        let response = try await send(request)
        guard response.head.isFromS3 else { throw StorageError.notFromS3(key) }
        guard let byteCount = response.head.contentLength, byteCount >= 0 else {
            throw StorageError(.serverError, "The server did not say how long the object is.", key: key)
        }
        return StoredObject(response.head, byteCount: byteCount)
    }

    /// The object, if one with the source's content is there.
    func existing(_ key: ObjectKey, matching source: UploadSource) async throws -> RemoteObject? {
        do {
            let stored = try await stored(key)
            guard stored.matches(source) else { return nil }
            var object = stored.remoteObject(key, at: place)
            object.sha256 = source.sha256
            return object
        } catch let failure as S3Failure where failure.storageError.isMissing {
            return nil
        }
    }

    /// The object after an upload that the server called a success.
    ///
    /// - Throws: ``StorageError/Code/integrity`` when something else is there, or nothing.
    func requireExisting(_ key: ObjectKey, matching source: UploadSource) async throws -> RemoteObject {
        guard let object = try await existing(key, matching: source) else { throw StorageError.notProven(key) }
        return object
    }
}

extension StorageError {
    static func notFromS3(_ key: ObjectKey) -> StorageError {
        StorageError(
            .serverError, "The answer is not from S3: look whether a proxy or a sign-in page stands before it.",
            key: key)
    }
}

import LFSHTTP
import LFSHTTPStorage
import LFSStorage

extension S3Client {
    /// An object's description.
    ///
    /// - Throws: ``StorageError/Code/missing`` when S3 itself says so: a HEAD's 404 has no body that could tell S3 from
    ///   a proxy, so the same is asked again by GET.
    func described(_ key: ObjectKey) async throws -> StoredObject {
        try await stored(key) { $0.isVague }
    }

    /// An object's description, for who does no harm when it is not seen: a 404 is taken as it comes.
    ///
    /// - Throws: ``StorageError/Code/missing``.
    func stored(_ key: ObjectKey) async throws -> StoredObject {
        try await stored(key) { $0.isVague && $0.status != 404 }
    }

    private func stored(_ key: ObjectKey, _ isVague: (S3Failure) -> Bool) async throws -> StoredObject {
        do {
            return try await headed(key)
        } catch let failure as S3Failure where isVague(failure) {
            try await requireReadable(key)
            do {
                // The GET may have put right what was signed wrong.
                return try await headed(key)
            } catch let failure as S3Failure where isVague(failure) {
                throw StorageError(
                    .serverError, "The server answers \(failure.status) to HEAD, and takes a GET of the same object.",
                    key: key)
            }
        }
    }

    /// "HeadObject" of the Amazon S3 API reference.
    private func headed(_ key: ObjectKey) async throws -> StoredObject {
        var request = S3Request(.head, key)
        try request.headers.set("x-amz-checksum-mode", "ENABLED")
        let response = try await send(request)
        guard response.head.isFromS3 else { throw StorageError.notFromS3(key) }
        guard let byteCount = response.head.contentLength, byteCount >= 0 else {
            throw StorageError(.serverError, "The server did not say how long the object is.", key: key)
        }
        return StoredObject(response.head, byteCount: byteCount)
    }

    /// Asks for one byte of an object.
    ///
    /// - Throws: what S3 says of a refusal, in its own words.
    private func requireReadable(_ key: ObjectKey) async throws {
        var request = S3Request(.get, key)
        try request.headers.set("range", (0..<1).asField)
        do {
            _ = try await send(request)
        } catch let failure as S3Failure where failure.code == "InvalidRange" {
            // An empty object has no first byte.
        }
    }

    /// Removes an object ("DeleteObject" of the Amazon S3 API reference). Removing what is not there succeeds.
    ///
    /// - Parameter entityTag: what must be there still, as far as the server knows such a condition; nil for whatever
    ///   is.
    /// - Throws: ``StorageError/Code/unreachable`` when something else than S3 has answered.
    func delete(_ key: ObjectKey, entityTag: EntityTag? = nil) async throws {
        do {
            var request = S3Request(.delete, key)
            if let entityTag { try request.headers.set("if-match", entityTag.quoted) }
            let response = try await send(request)
            guard response.confirmsRemoval else { throw StorageError.notFromS3(key) }
        } catch let failure as S3Failure where failure.storageError.isMissing {
            // It is gone, which is what was asked for.
        }
    }
}

extension S3Failure {
    /// Whether the answer to a HEAD leaves open what it means and who has given it.
    fileprivate var isVague: Bool { (300..<500).contains(status) && status != 429 && !isClockSkew }
}

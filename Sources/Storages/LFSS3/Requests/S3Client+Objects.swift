import LFSHTTP
import LFSHTTPStorage
import LFSStorage

extension S3Client {
    /// Returns an object's description.
    ///
    /// - Throws: ``StorageError/Code/missing`` when S3 itself reports it. A HEAD's 404 has no body that could
    ///   distinguish S3 from a proxy, so the request is repeated as a GET.
    func described(_ key: ObjectKey) async throws -> StoredObject {
        try await stored(key) { $0.isVague }
    }

    /// Returns an object's description for callers that tolerate a false 404. It does not repeat the request as a GET.
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
                // The GET may have corrected the region, the time or the credentials.
                return try await headed(key)
            } catch let failure as S3Failure where isVague(failure) {
                throw StorageError(
                    .serverError,
                    message: "The server answers \(failure.status) to HEAD, but accepts a GET of the same object.",
                    key: key)
            }
        }
    }

    /// Sends "HeadObject" of the Amazon S3 API reference.
    private func headed(_ key: ObjectKey) async throws -> StoredObject {
        var request = S3Request(.head, key: key)
        try request.headers.set("x-amz-checksum-mode", value: "ENABLED")
        let response = try await send(request)
        guard response.head.isFromS3 else { throw StorageError.notFromS3(key) }
        guard let byteCount = response.head.contentLength, byteCount >= 0 else {
            throw StorageError(.serverError, message: "The server did not report the size of the object.", key: key)
        }
        return StoredObject(response.head, byteCount: byteCount)
    }

    /// Requests one byte of an object.
    ///
    /// - Throws: S3's error with its code and message.
    private func requireReadable(_ key: ObjectKey) async throws {
        var request = S3Request(.get, key: key)
        try request.headers.set("range", value: (0..<1).asField)
        do {
            _ = try await send(request)
        } catch let failure as S3Failure where failure.code == "InvalidRange" {
            // An empty object has no first byte.
        }
    }

    /// Deletes an object ("DeleteObject" of the Amazon S3 API reference). Deleting a missing object succeeds.
    ///
    /// - Parameter entityTag: deletes only this version, if the server supports the condition. nil deletes any version.
    /// - Throws: ``StorageError/Code/unreachable`` when a server other than S3 has answered, and
    ///   ``StorageError/Code/serverError`` when the object still exists.
    func delete(_ key: ObjectKey, entityTag: EntityTag? = nil) async throws {
        do {
            var request = S3Request(.delete, key: key)
            if let entityTag { try request.headers.set("if-match", value: entityTag.quoted) }
            let response = try await send(request)
            guard response.confirmsRemoval else { throw StorageError.notFromS3(key) }
            // A condition protects an object that another client may replace at any time.
            if !response.head.hasFieldOfS3, entityTag == nil { try await requireAbsent(key) }
        } catch let failure as S3Failure where failure.storageError.isMissing {
            // The object is already deleted, as requested.
        }
    }

    /// Requests one byte of an object after its deletion was confirmed by a reply without a field of S3.
    ///
    /// A proxy may have sent such a reply, but so do servers that add no field to it. Errors of S3 have a body that
    /// shows their origin. Credentials that may delete and not read get another error, which proves as much as the
    /// server offers.
    private func requireAbsent(_ key: ObjectKey) async throws {
        do {
            try await requireReadable(key)
        } catch let failure as S3Failure where failure.code != nil {
            if failure.storageError.isMissing || failure.storageError.code == .forbidden { return }
            throw failure
        }
        throw StorageError(
            .serverError, message: "The server confirmed the deletion of an object, but still has it.", key: key)
    }
}

extension S3Failure {
    /// True if the reply to a HEAD does not show what it means and which server sent it.
    fileprivate var isVague: Bool { (300..<500).contains(status) && status != 429 && !isClockSkew }
}

package import LFSHTTPStorage
package import LFSStorage

extension SignedURLStorage: PresigningStorage {
    /// Returns requests that the signing server has signed together. The server decides how long they are valid.
    package func presignedParts(
        of source: UploadSource, to key: ObjectKey, session: UploadSession, limit: Int, expires: Duration
    ) async throws -> [PresignedPart] {
        try await translatingFailures(key) {
            try await FileUpload(
                client: client, actions: uploads, permits: permits, key: key, source: source, session: session
            ).presignedParts(limit: limit)
        }
    }
}

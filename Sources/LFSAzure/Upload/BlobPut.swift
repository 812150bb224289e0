import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// Uploads a file with one request ("Put Blob").
struct BlobPut: Sendable {
    let client: AzureClient
    let fields: BlobFields
    let key: ObjectKey

    func run(_ source: UploadSource, _ session: UploadSession) async throws -> RemoteObject {
        let recorded = ContentCRC64(hex: source.crc64)
        let checksum = if let recorded { recorded } else { try await digest(source) }
        do {
            return try await put(source, session, checksum)
        } catch let failure as AzureFailure where failure.storageError.code == .integrity {
            // The way there has spoiled the bytes, or they are not the recorded ones any more, or the row is wrong.
            let actual = try await digest(source)
            guard actual != checksum else { throw failure }
            return try await put(source, session, actual)
        }
    }

    /// - Throws: ``StorageError/Code/sourceChanged`` when the local bytes are not the recorded ones.
    private func digest(_ source: UploadSource) async throws -> ContentCRC64 {
        let digester = SourceDigester(source, .crc64)
        let digest = try await digester.next(source.byteCount)
        try await digester.requireWhole()
        guard let checksum = ContentCRC64(hex: digest.crc64) else {
            throw StorageError(.serverError, "The checksum of the local bytes was not computed.", key: key)
        }
        return checksum
    }

    private func put(
        _ source: UploadSource, _ session: UploadSession, _ checksum: ContentCRC64
    ) async throws -> RemoteObject {
        let onlyIfAbsent = !session.replacesObject
        do {
            return try await put(source, session, checksum, onlyIfAbsent: onlyIfAbsent)
        } catch let failure as AzureFailure where failure.isTaken && onlyIfAbsent {
            // The same file when only the reply to an earlier try was lost, and the server says so.
            if let object = try await existing(source) { return object }
            return try await put(source, session, checksum, onlyIfAbsent: false)
        }
    }

    private func put(
        _ source: UploadSource, _ session: UploadSession, _ checksum: ContentCRC64, onlyIfAbsent: Bool
    ) async throws -> RemoteObject {
        var request = AzureRequest(.put, key)
        request.headers = try fields.make(for: source)
        try request.headers.set("x-ms-blob-type", "BlockBlob")
        try request.headers.set(ContentCRC64.field, checksum.text)
        if onlyIfAbsent { try request.headers.set("if-none-match", "*") }
        request.body = .source(source, 0..<source.byteCount)
        request.onProgress = { session.report(bytesTransferred: $0) }
        let response = try await client.send(request)
        guard response.status == 201 else {
            throw StorageError(
                .serverError, "The server answered \(response.status) to an upload, which stores nothing.", key: key)
        }
        if let word = response.headers[ContentCRC64.field] {
            guard word == checksum.text else { throw StorageError.notProven(key) }
            return StoredBlob(response.head, byteCount: source.byteCount)
                .remoteObject(key, at: client.place, sha256: source.sha256)
        }
        // Emulators say less than the service.
        guard let found = try await client.find(key), found.byteCount == source.byteCount else {
            throw StorageError.notProven(key)
        }
        return found.remoteObject(key, at: client.place)
    }

    /// What is there, if it has the local bytes by the service's own word: the MD5 of a blob that came in one request.
    private func existing(_ source: UploadSource) async throws -> RemoteObject? {
        guard let found = try await client.find(key), found.byteCount == source.byteCount, let md5 = found.md5 else {
            return nil
        }
        let digester = SourceDigester(source, .md5)
        let digest = try await digester.next(source.byteCount)
        try await digester.requireWhole()
        // The MD5 of a blob of blocks is what somebody has written there.
        guard digest.md5 == md5, let list = try await client.blocks(of: key), list.committed.isEmpty else { return nil }
        return found.remoteObject(key, at: client.place, sha256: source.sha256)
    }
}

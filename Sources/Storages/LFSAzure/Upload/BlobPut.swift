import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// An upload of a file with one request ("Put Blob").
struct BlobPut: Sendable {
    let client: AzureClient
    let fields: BlobFields
    let key: ObjectKey

    func run(_ source: UploadSource, session: UploadSession) async throws -> RemoteObject {
        let recorded = ContentCRC64(hex: source.crc64)
        let checksum = if let recorded { recorded } else { try await digest(source) }
        do {
            return try await put(source, session: session, checksum: checksum)
        } catch let failure as AzureFailure where failure.storageError.code == .integrity {
            // The connection corrupted the bytes, the local bytes are no longer the recorded ones, or the recorded CRC
            // is wrong.
            let actual = try await digest(source)
            guard actual != checksum else { throw failure }
            return try await put(source, session: session, checksum: actual)
        }
    }

    /// - Throws: ``StorageError/Code/sourceChanged`` when the local bytes are not the recorded ones.
    private func digest(_ source: UploadSource) async throws -> ContentCRC64 {
        let digester = SourceDigester(source, kinds: .crc64)
        let digest = try await digester.next(source.byteCount)
        try await digester.requireWhole()
        guard let checksum = ContentCRC64(hex: digest.crc64) else {
            throw StorageError(.serverError, message: "The checksum of the local bytes was not computed.", key: key)
        }
        return checksum
    }

    private func put(
        _ source: UploadSource, session: UploadSession, checksum: ContentCRC64
    ) async throws -> RemoteObject {
        let onlyIfAbsent = !session.replacesObject
        do {
            return try await put(source, session: session, checksum: checksum, onlyIfAbsent: onlyIfAbsent)
        } catch let failure as AzureFailure where failure.isTaken && onlyIfAbsent {
            // If only the reply to an earlier attempt was lost, the server confirms the same bytes.
            if let object = try await existing(source) { return object }
            return try await put(source, session: session, checksum: checksum, onlyIfAbsent: false)
        }
    }

    private func put(
        _ source: UploadSource, session: UploadSession, checksum: ContentCRC64, onlyIfAbsent: Bool
    ) async throws -> RemoteObject {
        var request = AzureRequest(.put, key: key)
        request.headers = try fields.make(for: source)
        try request.headers.set("x-ms-blob-type", value: "BlockBlob")
        try request.headers.set(ContentCRC64.field, value: checksum.text)
        if onlyIfAbsent { try request.headers.set("if-none-match", value: "*") }
        request.body = .source(source, range: 0..<source.byteCount)
        request.onProgress = { session.report(bytesTransferred: $0) }
        let response = try await client.send(request)
        guard response.status == 201 else {
            throw StorageError(
                .serverError, message: "The server answered \(response.status) to an upload, which stores nothing.",
                key: key)
        }
        if let word = response.headers[ContentCRC64.field] {
            guard word == checksum.text else { throw StorageError.notProven(key) }
            return StoredBlob(response.head, byteCount: source.byteCount)
                .remoteObject(key, at: client.place, sha256: source.sha256)
        }
        // Emulators omit the checksum from the reply.
        guard let found = try await client.find(key), found.byteCount == source.byteCount else {
            throw StorageError.notProven(key)
        }
        return found.remoteObject(key, at: client.place)
    }

    /// Returns the existing object if the service confirms the local bytes. It computes the MD5 of a blob that was
    /// uploaded with one request.
    private func existing(_ source: UploadSource) async throws -> RemoteObject? {
        guard let found = try await client.find(key), found.byteCount == source.byteCount, let md5 = found.md5 else {
            return nil
        }
        let digester = SourceDigester(source, kinds: .md5)
        let digest = try await digester.next(source.byteCount)
        try await digester.requireWhole()
        // The MD5 of a blob with blocks is not computed by the service. Any client may have written it.
        guard digest.md5 == md5, let list = try await client.blocks(of: key), list.committed.isEmpty else { return nil }
        return found.remoteObject(key, at: client.place, sha256: source.sha256)
    }
}

import LFSHTTP
import LFSStorage
import LFSSystem

/// Uploads a file with one request ("PutObject" of the Amazon S3 API reference).
struct SinglePut: Sendable {
    let client: S3Client
    let provider: S3Provider
    let options: S3Options
    let key: ObjectKey

    func run(_ source: UploadSource, _ session: UploadSession) async throws -> RemoteObject {
        let md5 = provider.checksumHeader == .sha256 ? nil : try await digest(source).md5
        do {
            return try await put(source, session, md5: md5, onlyIfAbsent: provider.conditionalWrites)
        } catch let failure as S3Failure where failure.status == 412 {
            // Something is there: the same file when only the reply to an earlier try was lost.
            if let object = try await client.existing(key, matching: source) { return object }
            return try await put(source, session, md5: md5, onlyIfAbsent: false)
        } catch let failure as S3Failure where failure.storageError.code == .integrity {
            // Either the way there has spoiled the bytes, or they are not the recorded ones any more.
            _ = try await digest(source)
            throw failure
        }
    }

    /// - Throws: ``StorageError/Code/sourceChanged`` when the local bytes are not the recorded ones.
    private func digest(_ source: UploadSource) async throws -> PayloadDigest {
        let digester = SourceDigester(source, withMD5: true)
        let digest = try await digester.next(source.byteCount)
        try digester.requireWhole()
        return digest
    }

    private func put(
        _ source: UploadSource, _ session: UploadSession, md5: String?, onlyIfAbsent: Bool
    ) async throws -> RemoteObject {
        var request = S3Request(.put, key)
        request.headers = try ObjectFields(options).make(for: source)
        try request.headers.set(provider.checksumHeader, sha256: source.sha256, md5: md5)
        if onlyIfAbsent { try request.headers.set("if-none-match", "*") }
        request.body = .file(source.descriptor, 0..<source.byteCount)
        request.payloadHash = source.sha256
        request.onProgress = { session.report(bytesTransferred: $0) }
        let response = try await client.send(request)
        return try await prove(response, source, md5: md5)
    }

    /// The server's own word that it holds the bytes: its checksum, its entity tag where that is their MD5, or what it
    /// says when it is asked for the object.
    private func prove(_ response: HTTPResponse, _ source: UploadSource, md5: String?) async throws -> RemoteObject {
        let stored = StoredObject(response.head, byteCount: source.byteCount)
        if let checksum = stored.checksum {
            guard checksum == source.sha256 else { throw StorageError.notProven(key) }
        } else if !(try await hasMD5(stored.entityTag, source, md5)) {
            // The object's description would repeat our own note of the checksum, which proves nothing here.
            if provider.entityTagIsMD5, options.encryption == nil, stored.entityTag?.md5 != nil {
                throw StorageError.notProven(key)
            }
            return try await client.requireExisting(key, matching: source)
        }
        var object = stored.remoteObject(key, at: client.place)
        object.sha256 = source.sha256
        return object
    }

    /// Whether the entity tag is the MD5 of the bytes. Reading a small file again is cheaper than asking the server.
    private func hasMD5(_ tag: EntityTag?, _ source: UploadSource, _ md5: String?) async throws -> Bool {
        guard let tag = tag?.md5 else { return false }
        if let md5 { return tag == md5 }
        return try await tag == digest(source).md5
    }
}

extension HTTPHeaders {
    /// Sets the field that proves a body; both digests in hex.
    mutating func set(_ header: S3Provider.ChecksumHeader, sha256: String, md5: String?) throws(HTTPError) {
        switch header {
        case .sha256: if let text = Base64.text(hex: sha256) { try set("x-amz-checksum-sha256", text) }
        case .contentMD5: if let text = md5.flatMap(Base64.text) { try set("content-md5", text) }
        case .none: break
        }
    }
}

extension StorageError {
    static func notProven(_ key: ObjectKey) -> StorageError {
        StorageError(.integrity, "The server holds other bytes than were sent.", key: key)
    }
}

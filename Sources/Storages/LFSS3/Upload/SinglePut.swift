import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// An upload of a file with one request ("PutObject" of the Amazon S3 API reference).
struct SinglePut: Sendable {
    let client: S3Client
    let provider: S3Provider
    let options: S3Options
    let key: ObjectKey

    func run(_ source: UploadSource, session: UploadSession) async throws -> RemoteObject {
        let proof = try await proof(of: source)
        if session.wasPresigned, !session.replacesObject, let object = try await proof.existing(key, client: client) {
            return object
        }
        let onlyIfAbsent = provider.conditionalWrites && !session.replacesObject
        do {
            return try await put(proof, session: session, onlyIfAbsent: onlyIfAbsent)
        } catch let failure as S3Failure where failure.isUnmetCondition && onlyIfAbsent {
            // The key has an object. If only the reply to an earlier attempt was lost, the server confirms the same
            // bytes.
            if let object = try await proof.existing(key, client: client) { return object }
            return try await put(proof, session: session, onlyIfAbsent: false)
        } catch let failure as S3Failure where failure.storageError.code == .integrity {
            // Either the connection corrupted the bytes, or the local bytes are no longer the recorded ones.
            _ = try await digest(source)
            throw failure
        }
    }

    func proof(of source: UploadSource) async throws -> ObjectConfirmation {
        let md5 = provider.checksumHeader == .sha256 ? nil : try await digest(source).md5
        return ObjectConfirmation(
            source: source, tagsAreMD5: provider.entityTagIsMD5 && options.encryption == nil,
            layout: .likely(partSize: options.likelyPartSize(of: source, provider)), md5: md5)
    }

    /// - Throws: ``StorageError/Code/sourceChanged`` when the local bytes are not the recorded ones.
    private func digest(_ source: UploadSource) async throws -> PayloadDigest {
        let digester = SourceDigester(source, kinds: .md5)
        let digest = try await digester.next(source.byteCount)
        try await digester.requireWhole()
        return digest
    }

    private func put(
        _ proof: ObjectConfirmation, session: UploadSession, onlyIfAbsent: Bool
    ) async throws -> RemoteObject {
        let source = proof.source
        var request = S3Request(.put, key: key)
        request.headers = try ObjectFields(options).make(for: source)
        try request.headers.set(provider.checksumHeader, sha256: source.sha256, md5: proof.md5)
        if onlyIfAbsent { try request.headers.set("if-none-match", value: "*") }
        request.body = .source(source, range: 0..<source.byteCount)
        request.payloadHash = source.sha256
        request.onProgress = { session.report(bytesTransferred: $0) }
        let stored = StoredObject(try await client.send(request).head, byteCount: source.byteCount)
        switch try await proof.decision(on: stored) {
        case .same: return proof.proven(stored.remoteObject(key, at: client.place))
        case .other: throw StorageError.notProven(key)
        // Many servers report more in the reply to a HEAD.
        case .unknown: return try await proof.required(key, client: client)
        }
    }
}

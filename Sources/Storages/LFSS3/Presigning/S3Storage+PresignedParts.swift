import LFSHTTP
package import LFSHTTPStorage
package import LFSStorage

extension S3Storage: PresigningStorage {
    /// Returns presigned requests. They expire earlier than requested if the credentials do.
    package func presignedParts(
        of source: UploadSource, to key: ObjectKey, session: UploadSession, limit: Int, expires: Duration
    ) async throws -> [PresignedPart] {
        try await translatingFailures(key) {
            // Only the ordinary upload replaces objects.
            if session.replacesObject { return [] }
            if isInParts(source) {
                return try await multipartUpload(source, key: key, session: session)
                    .presigned(limit: limit, expires: expires)
            }
            let part = try await SinglePut(client: client, provider: provider, options: options, key: key)
                .presigned(source, session: session, expires: expires)
            return part.map { [$0] } ?? []
        }
    }
}

extension SinglePut {
    /// Returns nil if the server has the object already.
    fileprivate func presigned(
        _ source: UploadSource, session: UploadSession, expires: Duration
    ) async throws -> PresignedPart? {
        let proof = try await proof(of: source)
        if try await proof.existing(key, client: client) != nil { return nil }
        // The ordinary upload then asks the server before it sends the bytes.
        try await session.save(UploadCheckpoint(encoding: PresignedCheckpoint()))
        var fields = try ObjectFields(options).make(for: source)
        try fields.set(provider.checksumHeader, sha256: source.sha256, md5: proof.md5)
        if provider.conditionalWrites { try fields.set("if-none-match", value: "*") }
        let request = try await client.presignedPut(
            key, fields: fields, byteCount: source.byteCount, includesLength: false, expires: expires)
        return PresignedPart(number: 1, range: 0..<source.byteCount, request: request)
    }
}

extension MultipartUpload {
    /// Returns the requests of the missing parts.
    fileprivate func presigned(limit: Int, expires: Duration) async throws -> [PresignedPart] {
        client.began(key)
        defer { client.ended(key) }
        let checkpoint: MultipartCheckpoint
        var listed: [ListPartsReply.Part] = []
        if let earlier = usableCheckpoint {
            // The ordinary upload decides about an upload that the server has lost.
            guard let parts = try await listedParts(of: earlier) else { return [] }
            checkpoint = earlier
            listed = parts
        } else {
            guard case .begun(let begun) = try await begin() else { return [] }
            checkpoint = begun
        }
        return try await presigned(checkpoint, listed: listed, limit: limit, expires: expires)
    }

    private func presigned(
        _ checkpoint: MultipartCheckpoint, listed: [ListPartsReply.Part], limit: Int, expires: Duration
    ) async throws -> [PresignedPart] {
        guard let plan = PartPlan(byteCount: checkpoint.byteCount, partSize: checkpoint.partSize) else { return [] }
        let there = Dictionary(listed.map { ($0.number, $0) }) { first, _ in first }
        let digester = SourceDigester(source, kinds: checkpoint.checksum.kinds(provider))
        var requests: [PresignedPart] = []
        for number in 1...plan.count {
            let part = plan.part(number)
            let digest = try await digester.next(Int64(part.range.count))
            let isThere = there[number].map {
                trusted($0, part: part, digest: digest, noted: checkpoint.parts[number]) != nil
            }
            guard requests.count < limit, isThere != true else { continue }
            var request = S3Request(.put, key: key)
            try checkpoint.checksum.prove(digest, provider: provider, in: &request)
            let presigned = try await client.presignedPut(
                key, query: [("partNumber", String(number)), ("uploadId", checkpoint.uploadID ?? "")],
                fields: request.headers, byteCount: Int64(part.range.count), includesLength: false, expires: expires)
            requests.append(PresignedPart(number: number, range: part.range, request: presigned))
        }
        try await digester.requireWhole()
        return requests
    }
}

import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSWire

/// Requests of an upload that another program sends.
extension FileUpload {
    /// Returns the requests for the bytes that the store does not have.
    func presignedParts(limit: Int) async throws -> [PresignedPart] {
        // The ordinary upload replaces objects and decides about uploads that the server has lost.
        if session.replacesObject { return [] }
        let description = try await client.description()
        try requireAcceptedSize(description)
        if let parts = resumable(description) {
            do {
                return try await parts.presigned(present: parts.state(), limit: limit)
            } catch let failure as SigningFailure where failure.code == .lostUpload {
                return []
            }
        }
        if session.wasPresigned, try await completedEarlier() != nil { return [] }
        let ask = try await ask(description)
        let answer = try await client.askPatiently(.upload, object: ask.object(replaces: false)).requireNoError(key)
        if answer.object != nil { return [] }
        guard let begun = answer.parts else {
            let action = try answer.requiredAction(.upload, key: key)
            try await session.save(UploadCheckpoint(encoding: PresignedCheckpoint()))
            return [
                try PresignedPart(
                    action, number: 1, range: 0..<source.byteCount, source: source,
                    requiresTLS: client.base.origin.isSecure, about: key)
            ]
        }
        return try await parts(begun, description: description, replaces: false).presignedFromStart(limit: limit)
    }
}

extension PartedUpload {
    /// Saves the upload and returns the requests of its first parts.
    fileprivate func presignedFromStart(limit: Int) async throws -> [PresignedPart] {
        try await session.save(PartsCheckpoint(upload: upload, partSize: plan.partSize, source).encoded())
        return try await presigned(present: [], limit: limit)
    }

    /// Returns the requests of the missing parts. The server signs them together.
    fileprivate func presigned(present: [SigningAnswer.Part], limit: Int) async throws -> [PresignedPart] {
        let there = Dictionary(present.map { ($0.number, $0) }) { first, _ in first }
        let digester = SourceDigester(source, kinds: kinds)
        var missing: [(part: PartPlan.Part, object: SigningObject)] = []
        for number in 1...plan.count {
            let part = plan.part(number)
            let digest = try await digester.next(Int64(part.range.count))
            guard missing.count < limit, there[Int64(number)]?.has(part, digest: digest) != true else { continue }
            missing.append((part, request(for: part, digest: digest)))
        }
        try await digester.requireWhole()
        let outcomes = await client.ask(.parts, objects: missing.map(\.object))
        return try zip(missing, outcomes).map { missing, outcome in
            let action = try outcome.get().requiredAction(.parts, key: key)
            return try PresignedPart(
                action, number: missing.part.number, range: missing.part.range, source: source,
                requiresTLS: client.base.origin.isSecure, about: key)
        }
    }
}

extension PresignedPart {
    /// Creates the request that follows an action of the signing server.
    ///
    /// - Throws: ``StorageError/Code/serverError`` for an invalid action.
    fileprivate init(
        _ action: SigningAction, number: Int, range: Range<Int64>, source: UploadSource, requiresTLS: Bool,
        about key: ObjectKey
    ) throws {
        let body = RequestBody.source(source, range: range)
        let checked = try StoreRequest(action, method: .put, body: body, requiresTLS: requiresTLS, about: key).request
        self.init(
            number: number, range: range,
            request: PresignedRequest(
                url: action.href, headers: checked.headers.byName, proof: nil, lifetime: .seconds(action.expiresIn)))
    }
}

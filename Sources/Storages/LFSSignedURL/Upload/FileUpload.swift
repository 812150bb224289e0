import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSWire

/// An upload of a file with one request, or in parts if the signing server requires them.
struct FileUpload: Sendable {
    let client: SigningClient
    let actions: UploadActions
    let permits: AsyncSemaphore
    let key: ObjectKey
    let source: UploadSource
    let session: UploadSession

    func run() async throws -> RemoteObject {
        let description = try await client.description()
        try requireAcceptedSize(description)
        if let object = try await resumed(description) { return object }
        if session.wasPresigned, let object = try await completedEarlier() { return object }
        let due = actions.due(beside: SignRequest(source, to: key, md5: nil), session, description: description)
        guard !due.isEmpty else { return try await begin(description) }
        async let ahead: Void = actions.sign(due)
        let object = try await begin(description)
        await ahead
        return object
    }

    func requireAcceptedSize(_ description: SigningDescription) throws(StorageError) {
        guard let limit = description.largestObject, source.byteCount > limit else { return }
        throw StorageError(
            .tooLarge,
            message: "The signing server accepts files of up to \(limit) bytes, but this one has \(source.byteCount).",
            key: key)
    }

    /// Resumes an earlier attempt. Returns nil if nothing can be resumed.
    private func resumed(_ description: SigningDescription) async throws -> RemoteObject? {
        guard let parts = resumable(description) else { return nil }
        let end = try await parts.resume()
        if case .lost = end { return try await completedEarlier() }
        return try await outcome(end, description: description)
    }

    /// Returns the upload of an earlier attempt, or nil if nothing can be resumed.
    func resumable(_ description: SigningDescription) -> PartedUpload? {
        guard let earlier = session.checkpoint.flatMap(PartsCheckpoint.init), let upload = earlier.upload,
            earlier.isOf(source), let plan = possiblePlan(earlier.partSize, description: description)
        else { return nil }
        return partedUpload(upload, plan: plan, description: description, replaces: session.replacesObject)
    }

    private func begin(_ description: SigningDescription) async throws -> RemoteObject {
        let ask = try await ask(description)
        if session.replacesObject { return try await replace(ask, description: description) }
        var answer = try await actions.answer(to: ask)
        if answer.error?.code == .inProgress {
            answer = try await client.askPatiently(.upload, object: ask.object(replaces: false))
        }
        // The key has another object. This is found out before the parts are sent.
        if answer.error?.code == .integrity { return try await replace(ask, description: description) }
        if let found = try answer.requireNoError(key).object { return try agreeing(found) }
        if let parts = answer.parts { return try await send(parts, description: description, replaces: false) }
        do {
            return try await put(ask, action: try answer.requiredAction(.upload, key: key), replaces: false)
        } catch let failure as StoreFailure where failure.isConflict {
            // The key has an object. It is the same file if only the reply to an earlier attempt was lost.
            if let object = try await confirmed(ask) { return object }
            return try await replace(ask, description: description)
        }
    }

    /// Returns the description of the file, with all digests that the server requires.
    ///
    /// - Throws: ``StorageError/Code/sourceChanged``.
    func ask(_ description: SigningDescription) async throws -> SignRequest {
        let digester = description.digests.contains(.md5) ? SourceDigester(source, kinds: .md5) : nil
        let md5 = try await digester?.next(source.byteCount).md5
        try await digester?.requireWhole()
        return SignRequest(source, to: key, md5: md5)
    }

    /// Uploads the file and replaces any existing object.
    private func replace(_ ask: SignRequest, description: SigningDescription) async throws -> RemoteObject {
        let answer = try await client.askPatiently(.upload, object: ask.object(replaces: true)).requireNoError(key)
        if let parts = answer.parts { return try await send(parts, description: description, replaces: true) }
        if let found = answer.object, !session.replacesObject { return try agreeing(found) }
        return try await put(ask, action: try answer.requiredAction(.upload, key: key), replaces: true)
    }

    // MARK: Single request

    private func put(_ ask: SignRequest, action: SigningAction, replaces: Bool) async throws -> RemoteObject {
        do {
            return try await putOnce(ask, action: action)
        } catch let failure as StoreFailure where failure.mayBeSignature {
            // The store may have refused the bytes. In that case, another signature does not help.
            if failure.status == 400 { try await requireRecorded() }
            let again = try await client.askPatiently(.upload, object: ask.object(replaces: replaces)).requireNoError(
                key)
            if let found = again.object, !session.replacesObject { return try agreeing(found) }
            return try await putOnce(ask, action: try again.requiredAction(.upload, key: key))
        }
    }

    private func putOnce(_ ask: SignRequest, action: SigningAction) async throws -> RemoteObject {
        // Without a proof from the store, only this check detects changed bytes.
        let check = action.proof == nil ? SendingCheck(source) : nil
        let body = check?.body ?? .source(source, range: 0..<source.byteCount)
        var request = try StoreRequest(
            action, method: .put, body: body, requiresTLS: client.base.origin.isSecure, about: key
        )
        .request
        request.onProgress = { session.report(bytesTransferred: $0) }
        let response = try await client.send(request, about: key)
        try await check?.requireRecorded()
        if let proof = action.proof, proof.isMet(by: response.headers[proof.header]) {
            return RemoteObject(
                key: key, byteCount: source.byteCount, sha256: source.sha256,
                entityTag: response.headers["etag"].flatMap(EntityTag.init)?.text, url: client.url(of: key))
        }
        guard let object = try await confirmed(ask) else {
            try await requireRecorded()
            throw StorageError.notProven(key)
        }
        return object
    }

    /// Returns the store's object if it has this content, or nil if it has another.
    private func confirmed(_ ask: SignRequest) async throws -> RemoteObject? {
        let answer = try await client.askPatiently(.confirm, object: ask.confirmation)
        if answer.error?.code == .integrity { return nil }
        do {
            return try agreeing(answer.requiredObject(key))
        } catch let failure as SigningFailure where failure.code == .missing {
            throw StorageError(
                .serverError, message: "The store has no object with this key.", key: key, cause: failure)
        }
    }

    /// - Throws: ``StorageError/Code/integrity`` when the server's description contradicts the sent bytes.
    private func agreeing(_ found: SigningAnswer.Object) throws -> RemoteObject {
        guard found.key == key.rawValue else { throw SigningAnswer.nonsense(key) }
        guard found.size == source.byteCount, found.sha256 == nil || found.sha256 == source.sha256 else {
            throw StorageError.notProven(key)
        }
        return client.object(key, answer: found)
    }

    /// - Throws: ``StorageError/Code/sourceChanged`` when the local bytes are no longer the recorded ones.
    private func requireRecorded() async throws {
        let digester = SourceDigester(source, kinds: [])
        _ = try await digester.next(source.byteCount)
        try await digester.requireWhole()
    }

    // MARK: Parts

    private func send(
        _ begun: SigningAnswer.Parts, description: SigningDescription, replaces: Bool
    ) async throws -> RemoteObject {
        let parts = try parts(begun, description: description, replaces: replaces)
        return try await outcome(parts.begin(), description: description)
    }

    /// Returns the upload that the server has begun.
    func parts(
        _ begun: SigningAnswer.Parts, description: SigningDescription, replaces: Bool
    ) throws(StorageError) -> PartedUpload {
        let plan = try plan(begun.partSize, description: description)
        return partedUpload(begun.upload, plan: plan, description: description, replaces: replaces)
    }

    private func partedUpload(
        _ upload: String, plan: PartPlan, description: SigningDescription, replaces: Bool
    ) -> PartedUpload {
        PartedUpload(
            client: client, permits: permits, key: key, source: source, session: session, upload: upload, plan: plan,
            wantsMD5: description.partDigests.contains(.md5), replaces: replaces)
    }

    /// Handles the result of a multipart upload. If the store has lost it, or assembled other content, the upload
    /// starts over.
    private func outcome(_ end: PartedUpload.End, description: SigningDescription) async throws -> RemoteObject {
        switch end {
        case .complete(let found): return try agreeing(found)
        case .lost:
            if let object = try await completedEarlier() { return object }
            throw StorageError(
                .serverError, message: "The store no longer has the upload, which starts over.", key: key)
        case .otherObject(let failure, let replaces):
            // Either the assembled parts are not the file, or the key already had an object.
            let answer = try await client.askPatiently(
                .confirm, object: SignRequest(source, to: key, md5: nil).confirmation)
            if answer.error == nil { return try agreeing(answer.requiredObject(key)) }
            guard answer.error?.code == .integrity, !replaces else { throw failure.storageError }
            return try await replace(try await ask(description), description: description)
        }
    }

    /// Returns the object of an upload that the store no longer knows. Perhaps only the last reply was lost.
    func completedEarlier() async throws -> RemoteObject? {
        // The existing object is known or suspected to be damaged.
        if session.replacesObject { return nil }
        let answer = try await client.askPatiently(
            .confirm, object: SignRequest(source, to: key, md5: nil).confirmation)
        if let code = answer.error?.code, code == .missing || code == .integrity { return nil }
        return try agreeing(answer.requiredObject(key))
    }

    /// Returns nil for sizes that the server itself does not allow.
    private func possiblePlan(_ partSize: Int64, description: SigningDescription) -> PartPlan? {
        guard let limits = description.parts, partSize <= limits.largest,
            partSize >= limits.smallest || partSize >= source.byteCount
        else { return nil }
        return PartPlan(byteCount: source.byteCount, partSize: partSize, maximumCount: Int(clamping: limits.count))
    }

    /// - Throws: ``StorageError/Code/serverError`` for sizes that the server itself does not allow.
    private func plan(_ partSize: Int64, description: SigningDescription) throws(StorageError) -> PartPlan {
        guard let plan = possiblePlan(partSize, description: description) else {
            throw StorageError(
                .serverError,
                message:
                    "The signing server requests \(source.byteCount) bytes in parts of \(partSize), over its limits.",
                key: key)
        }
        return plan
    }
}

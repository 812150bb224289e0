import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSWire

/// Uploads a file: with one request, or in parts where the signing server says so.
struct FileUpload: Sendable {
    let client: SigningClient
    let actions: UploadActions
    let permits: Permits
    let key: ObjectKey
    let source: UploadSource
    let session: UploadSession

    func run() async throws -> RemoteObject {
        let description = try await client.description()
        if let limit = description.largestObject, source.byteCount > limit {
            throw StorageError(
                .tooLarge, "The signing server takes files of up to \(limit) bytes; this one has \(source.byteCount).",
                key: key)
        }
        if let object = try await resumed(description) { return object }
        let due = actions.due(beside: UploadAsk(source, to: key, md5: nil), session, description)
        guard !due.isEmpty else { return try await begin(description) }
        async let ahead: Void = actions.sign(due)
        let object = try await begin(description)
        await ahead
        return object
    }

    /// Goes on where an earlier try has ended; nil when there is nothing to go on with.
    private func resumed(_ description: SigningDescription) async throws -> RemoteObject? {
        guard let earlier = session.checkpoint.flatMap(PartsCheckpoint.init), let upload = earlier.upload,
            earlier.isOf(source), let plan = possiblePlan(earlier.partSize, description)
        else { return nil }
        let parts = partedUpload(upload, plan, description, replaces: session.replacesObject)
        let end = try await parts.resume()
        if case .lost = end { return try await completedEarlier() }
        return try await outcome(end, description)
    }

    private func begin(_ description: SigningDescription) async throws -> RemoteObject {
        let ask = try await ask(description)
        if session.replacesObject { return try await replace(ask, description) }
        var answer = try await actions.answer(to: ask)
        if answer.error?.code == .inProgress {
            answer = try await client.askPatiently(.upload, ask.object(replaces: false))
        }
        // Something else is there, which shows before its parts go out.
        if answer.error?.code == .integrity { return try await replace(ask, description) }
        if let found = try answer.requireNoError(key).object { return try agreeing(found) }
        if let parts = answer.parts { return try await send(parts, description, replaces: false) }
        do {
            return try await put(ask, try answer.requiredAction(.upload, key), replaces: false)
        } catch let failure as StoreFailure where failure.isConflict {
            // Something is there: the same file when only the reply to an earlier try was lost.
            if let object = try await confirmed(ask) { return object }
            return try await replace(ask, description)
        }
    }

    /// The file with all digests that the server wants.
    ///
    /// - Throws: ``StorageError/Code/sourceChanged``.
    private func ask(_ description: SigningDescription) async throws -> UploadAsk {
        let digester = description.digests.contains(.md5) ? SourceDigester(source, .md5) : nil
        let md5 = try await digester?.next(source.byteCount).md5
        try await digester?.requireWhole()
        return UploadAsk(source, to: key, md5: md5)
    }

    /// Uploads the file over whatever is there.
    private func replace(_ ask: UploadAsk, _ description: SigningDescription) async throws -> RemoteObject {
        let answer = try await client.askPatiently(.upload, ask.object(replaces: true)).requireNoError(key)
        if let parts = answer.parts { return try await send(parts, description, replaces: true) }
        if let found = answer.object, !session.replacesObject { return try agreeing(found) }
        return try await put(ask, try answer.requiredAction(.upload, key), replaces: true)
    }

    // MARK: With one request

    private func put(_ ask: UploadAsk, _ action: SigningAction, replaces: Bool) async throws -> RemoteObject {
        do {
            return try await putOnce(ask, action)
        } catch let failure as StoreFailure where failure.mayBeSignature {
            // The store may have refused the bytes: then no signature helps.
            if failure.status == 400 { try await requireRecorded() }
            let again = try await client.askPatiently(.upload, ask.object(replaces: replaces)).requireNoError(key)
            if let found = again.object, !session.replacesObject { return try agreeing(found) }
            return try await putOnce(ask, try again.requiredAction(.upload, key))
        }
    }

    private func putOnce(_ ask: UploadAsk, _ action: SigningAction) async throws -> RemoteObject {
        // Without a proof nobody else may look at the bytes on their way.
        let check = action.proof == nil ? SendingCheck(source) : nil
        let body = check?.body ?? .source(source, 0..<source.byteCount)
        var request = try StoreRequest(action, .put, body: body, requiresTLS: client.base.origin.isSecure, about: key)
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

    /// What the store has, if it is this very content; nil when it is something else.
    private func confirmed(_ ask: UploadAsk) async throws -> RemoteObject? {
        let answer = try await client.askPatiently(.confirm, ask.confirmation)
        if answer.error?.code == .integrity { return nil }
        do {
            return try agreeing(answer.requiredObject(key))
        } catch let failure as SigningFailure where failure.code == .missing {
            throw StorageError(.serverError, "The store has nothing under the key.", key: key, cause: failure)
        }
    }

    /// - Throws: ``StorageError/Code/integrity`` when the server's word contradicts what was sent.
    private func agreeing(_ found: SigningAnswer.Object) throws -> RemoteObject {
        guard found.key == key.rawValue else { throw SigningAnswer.nonsense(key) }
        guard found.size == source.byteCount, found.sha256 == nil || found.sha256 == source.sha256 else {
            throw StorageError.notProven(key)
        }
        return client.object(key, found)
    }

    /// - Throws: ``StorageError/Code/sourceChanged`` when the local bytes are not the recorded ones any more.
    private func requireRecorded() async throws {
        let digester = SourceDigester(source, [])
        _ = try await digester.next(source.byteCount)
        try await digester.requireWhole()
    }

    // MARK: In parts

    private func send(
        _ begun: SigningAnswer.Parts, _ description: SigningDescription, replaces: Bool
    ) async throws -> RemoteObject {
        let plan = try plan(begun.partSize, description)
        let parts = partedUpload(begun.upload, plan, description, replaces: replaces)
        return try await outcome(parts.begin(), description)
    }

    private func partedUpload(
        _ upload: String, _ plan: PartPlan, _ description: SigningDescription, replaces: Bool
    ) -> PartedUpload {
        PartedUpload(
            client: client, permits: permits, key: key, source: source, session: session, upload: upload, plan: plan,
            wantsMD5: description.partDigests.contains(.md5), replaces: replaces)
    }

    /// What an upload in parts has come to. One that the store has lost, or put together in vain, begins anew.
    private func outcome(_ end: PartedUpload.End, _ description: SigningDescription) async throws -> RemoteObject {
        switch end {
        case .complete(let found): return try agreeing(found)
        case .lost:
            if let object = try await completedEarlier() { return object }
            throw StorageError(.serverError, "The store has forgotten the upload; it begins anew.", key: key)
        case .otherObject(let failure, let replaces):
            // Either the parts were put together and are not the file, or something was under the key before.
            let answer = try await client.askPatiently(.confirm, UploadAsk(source, to: key, md5: nil).confirmation)
            if answer.error == nil { return try agreeing(answer.requiredObject(key)) }
            guard answer.error?.code == .integrity, !replaces else { throw failure.storageError }
            return try await replace(try await ask(description), description)
        }
    }

    /// The object of an upload that the store does not know any more: perhaps only the last answer was lost.
    private func completedEarlier() async throws -> RemoteObject? {
        // What is there is known or suspected to be damaged.
        if session.replacesObject { return nil }
        let answer = try await client.askPatiently(.confirm, UploadAsk(source, to: key, md5: nil).confirmation)
        if let code = answer.error?.code, code == .missing || code == .integrity { return nil }
        return try agreeing(answer.requiredObject(key))
    }

    /// nil for sizes that the server itself does not allow.
    private func possiblePlan(_ partSize: Int64, _ description: SigningDescription) -> PartPlan? {
        guard let limits = description.parts, partSize <= limits.largest,
            partSize >= limits.smallest || partSize >= source.byteCount
        else { return nil }
        return PartPlan(byteCount: source.byteCount, partSize: partSize, maximumCount: Int(clamping: limits.count))
    }

    /// - Throws: ``StorageError/Code/serverError`` for sizes that the server itself does not allow.
    private func plan(_ partSize: Int64, _ description: SigningDescription) throws(StorageError) -> PartPlan {
        guard let plan = possiblePlan(partSize, description) else {
            throw StorageError(
                .serverError,
                "The signing server wants \(source.byteCount) bytes in parts of \(partSize), which it does not take.",
                key: key)
        }
        return plan
    }
}

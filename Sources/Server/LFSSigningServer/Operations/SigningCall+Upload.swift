import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSWire

/// Uploads with one request and in parts.
extension SigningCall {
    func upload(_ object: SigningObject) async throws -> SigningAnswer {
        let key = try key(object)
        let bytes = try announced(object, digests: backend.digests)
        let order = UploadOrder(key: key, bytes: bytes, replaces: object.replace ?? false)
        try requireSize(bytes.byteCount)
        try await requireWriting(key)
        if let parts = backend.parts, bytes.byteCount >= max(parts.threshold, 1) {
            return try await begin(order, parts: parts)
        }
        try chargeAction(bytes.byteCount)
        return .action(try await signer.upload(order, expires: limits.expiry), for: .upload)
    }

    private func begin(_ order: UploadOrder, parts: any MultipartStore) async throws -> SigningAnswer {
        if !order.replaces, let object = try await existing(order) { return .object(object) }
        let plan = try PartPlan(byteCount: order.bytes.byteCount, partSize: parts.partSize, parts.limits)
        try budgets.open(limits.creationBytes, caller: account)
        let ticket = UploadTicket(
            key: order.key, bytes: order.bytes, partSize: plan.partSize, upload: try await parts.begin(order),
            replaces: order.replaces)
        return .parts(.init(upload: try tokens.token(for: ticket, caller: caller), partSize: plan.partSize))
    }

    /// Returns the object if it already has the content.
    ///
    /// - Throws: ``WireFailure/Code/integrity`` if a different object exists.
    private func existing(_ order: UploadOrder) async throws -> SigningAnswer.Object? {
        do {
            return try await confirmed(order.key, bytes: order.bytes)
        } catch let error as StorageError where error.isMissing {
            return nil
        }
    }

    func part(_ object: SigningObject) async throws -> SigningAnswer {
        let ticket = try await ticket(object)
        let number = Int(try object.required(\.number, name: "number"))
        let bytes = try announced(object, digests: backend.partDigests)
        guard let size = ticket.size(of: number) else {
            throw WireFailure(.invalidRequest, message: "This upload has \(ticket.partCount) parts.")
        }
        guard bytes.byteCount == size else {
            throw WireFailure(.invalidRequest, message: "Part \(number) of this upload has \(size) bytes.")
        }
        try chargeAction(size)
        let action = try await signer.part(number, of: ticket, bytes: bytes, expires: limits.expiry)
        return .action(action, for: .parts)
    }

    func state(_ object: SigningObject) async throws -> SigningAnswer {
        guard let present = try await backend.parts?.present(ticket(object)) else { throw Self.lost }
        return .present(present)
    }

    func complete(_ object: SigningObject) async throws -> SigningAnswer {
        let ticket = try await ticket(object)
        let digests = PartsDigests(
            sha256: try object.required(\.partsSHA256, name: "parts_sha256"), md5: object.partsMD5)
        return .object(
            try await work.completion(of: ticket, digests) {
                // A bucket joins parts itself. With a folder, one account must not occupy all threads.
                guard self.backend.folder != nil else { return try await self.completed(ticket, digests: digests) }
                return try await self.work.joins.withTurn(self.caller) {
                    try await self.completed(ticket, digests: digests)
                }
            })
    }

    /// Completes an upload. The work continues when no caller waits any more, so a repeated request finds the result.
    private func completed(_ ticket: UploadTicket, digests: PartsDigests) async throws -> SigningAnswer.Object {
        guard let outcome = try await backend.parts?.complete(ticket, digests: digests) else { throw Self.lost }
        switch outcome {
        case .done:
            var described = SigningAnswer.Object(try await backend.objects.storage.head(ticket.key))
            guard described.size == ticket.bytes.byteCount else { throw Self.other }
            // The parts were compared with the caller's digests, and this digest is the caller's as well.
            described.sha256 = ticket.bytes.sha256
            return described
        case .unproven(let entityTag): return try await proven(ticket, entityTag: entityTag)
        case .lost: throw Self.lost
        case .wrong:
            budgets.charge(ticket.bytes.byteCount, caller: account)
            throw WireFailure(
                .integrity, message: "The assembled parts are not the announced object. Start the upload again.")
        case .taken:
            let object: SigningAnswer.Object
            do {
                object = try await confirmed(ticket.key, bytes: ticket.bytes, waits: true)
            } catch {
                // A client forgets the upload after these answers, and the parts would stay.
                let code = WireFailure(error).code
                if code == .integrity || code == .missing { try await backend.parts?.abort(ticket) }
                throw error
            }
            try await backend.parts?.abort(ticket)
            return object
        }
    }

    /// Returns an object that the server has just made from unproven parts. The server reads it, and removes it if it
    /// is wrong.
    ///
    /// - Parameter entityTag: the tag that the store has returned for the new object, or nil if it returned none.
    private func proven(_ ticket: UploadTicket, entityTag: String?) async throws -> SigningAnswer.Object {
        let wrong: RemoteObject
        switch try await backend.objects.compare(ticket.key, with: ticket.bytes) {
        case .same(let object): return .init(object)
        case .unknown(let object):
            if try await sha256(of: object, waits: true) == ticket.bytes.sha256 {
                var proven = object
                proven.sha256 = ticket.bytes.sha256
                return .init(proven)
            }
            wrong = object
        case .other:
            do {
                wrong = try await backend.objects.storage.head(ticket.key)
            } catch let error as StorageError where error.isMissing {
                throw Self.other
            }
        }
        // The server must not remove an object that another caller has stored since.
        let isMade = entityTag.map { $0 == wrong.entityTag } ?? (wrong.byteCount == ticket.bytes.byteCount)
        if isMade { try await backend.objects.remove(wrong) }
        throw Self.other
    }

    func abort(_ object: SigningObject) async throws -> SigningAnswer {
        try await backend.parts?.abort(ticket(object))
        return .done
    }

    /// Returns the ticket of a token, if the caller may still write there. Rights are checked whenever they are used.
    private func ticket(_ object: SigningObject) async throws -> UploadTicket {
        let ticket = try tokens.ticket(try object.required(\.upload, name: "upload"), caller: caller)
        try await requireWriting(ticket.key)
        return ticket
    }

    private func requireWriting(_ key: ObjectKey) async throws {
        guard case .allowed = try await check.check(caller, verb: .write, namespace: key.namespace, key: key) else {
            throw AccessCheck.forbidden
        }
    }

    /// Charges the bytes that a client may send with a URL. A folder charges each body instead.
    private func chargeAction(_ byteCount: Int64) throws(WireFailure) {
        guard backend.folder == nil else { return }
        try budgets.open(byteCount, caller: account)
    }

    private func requireSize(_ byteCount: Int64) throws(WireFailure) {
        let most = min(limits.largestObject ?? .max, backend.objects.storage.capabilities.maximumByteCount ?? .max)
        guard byteCount <= most else {
            throw WireFailure(.tooLarge, message: "An object may have at most \(most) bytes.")
        }
    }

    private static var lost: WireFailure {
        WireFailure(.lostUpload, message: "The store does not know this upload. Start it again.")
    }
}

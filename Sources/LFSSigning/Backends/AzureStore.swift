import LFSAzure
import LFSHTTPStorage
import LFSStorage
import LFSWire

/// A container as the store behind a server.
struct AzureStore: ActionSigner, PartsKeeper, ObjectKeeper {
    private let container: AzureStorage

    init(storage: AzureStorage) { container = storage }

    var storage: any RemoteStorage { container }

    // MARK: Signatures

    func upload(_ order: UploadOrder, expires: Duration) async throws -> SigningAction {
        let request = try await container.presignedUpload(
            of: order.bytes, to: order.key, replaces: order.replaces, expires: expires)
        return SigningAction(request, method: "PUT")
    }

    func part(
        _ number: Int, of ticket: UploadTicket, _ bytes: AnnouncedBytes, expires: Duration
    ) async throws -> SigningAction {
        let request = try await container.presignedBlock(
            number, bytes, of: ticket.bytes.sha256, to: ticket.key, expires: expires)
        return SigningAction(request, method: "PUT")
    }

    func download(_ key: ObjectKey, expires: Duration) async throws -> SigningAction {
        SigningAction(try await container.presignedDownload(of: key, expires: expires), method: "GET")
    }

    // MARK: Parts

    var limits: PartLimits { container.partLimits }
    var threshold: Int64 { container.partThreshold }
    var partSize: Int64? { container.wantedPartSize }

    /// The service knows no uploads: blocks wait under the object's own name, and theirs say what they are of. What the
    /// end needs besides is the type.
    func begin(_ order: UploadOrder) async throws -> String { order.bytes.contentType ?? "" }

    /// Never nil: an upload of which nothing is there, or nothing any more, has no parts.
    func present(_ ticket: UploadTicket) async throws -> [SigningAnswer.Part]? {
        try await blocks(ticket).blocks.map(SigningAnswer.Part.init)
    }

    func complete(_ ticket: UploadTicket, _ digests: PartsDigests) async throws -> PartsOutcome {
        let stored = try await blocks(ticket)
        if stored.areAmbiguous {
            // Somebody has sent other bytes before; nobody knows which are the caller's now.
            try await abort(ticket)
            return .lost
        }
        let saysAll = try digests.areMet(by: stored.blocks.map(SigningAnswer.Part.init), of: ticket)
        // Of blocks whose requests bind nothing the names prove nothing.
        let isProven = try await container.bindsContent() && saysAll
        // The reply to an earlier try may have been lost.
        if stored.areObject { return isProven ? .done : .unproven(stored.entityTag) }
        let bytes = AnnouncedBytes(
            byteCount: ticket.bytes.byteCount, sha256: ticket.bytes.sha256,
            contentType: ticket.upload.isEmpty ? nil : ticket.upload)
        switch try await container.complete(stored.blocks, to: ticket.key, bytes, replaces: ticket.replaces) {
        case .done(let entityTag): return isProven ? .done : .unproven(entityTag)
        case .lost: return .lost
        case .taken: return .taken
        }
    }

    func abort(_ ticket: UploadTicket) async throws { try await container.abandonBlocks(of: ticket.key) }

    private func blocks(_ ticket: UploadTicket) async throws -> AzureStorage.StoredBlocks {
        try await container.blocks(of: ticket.bytes.sha256, at: ticket.key) { ticket.size(of: $0) }
    }

    // MARK: Objects

    func compare(_ key: ObjectKey, with bytes: AnnouncedBytes) async throws -> ObjectComparison {
        let comparison = try await container.compare(key, with: bytes)
        if case .other = comparison { try await discardIfWrong(key, bytes) }
        return comparison
    }

    /// Removes an object that says it is these bytes and is not: what came with a request that did not bind them. It
    /// would stand in the way of the right one. Whatever the caller says, the object itself is read.
    private func discardIfWrong(_ key: ObjectKey, _ bytes: AnnouncedBytes) async throws {
        guard try await !container.bindsContent() else { return }
        let (object, announced) = try await container.announced(key)
        guard announced == bytes.sha256, try await container.sha256(of: object) != announced else { return }
        try await container.remove(object)
    }

    func remove(_ object: RemoteObject) async throws { try await container.remove(object) }

    func create(_ key: ObjectKey, _ bytes: [UInt8]) async throws -> Bool { try await container.create(key, bytes) }
}

extension SigningAnswer.Part {
    fileprivate init(_ block: AzureStorage.StoredBlock) {
        self.init(number: Int64(block.number), size: block.byteCount, sha256: nil, md5: block.md5)
    }
}

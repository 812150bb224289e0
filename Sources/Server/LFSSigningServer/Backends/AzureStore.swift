import LFSAzure
import LFSHTTPStorage
import LFSStorage
import LFSWire

/// A container of Azure Blob Storage as the store behind a server.
struct AzureStore: ActionSigner, MultipartStore, ObjectStore {
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
        _ number: Int, of ticket: UploadTicket, bytes: DeclaredContent, expires: Duration
    ) async throws -> SigningAction {
        let request = try await container.presignedBlock(
            number, bytes: bytes, of: ticket.bytes.sha256, to: ticket.key, expires: expires)
        return SigningAction(request, method: "PUT")
    }

    func download(_ key: ObjectKey, expires: Duration) async throws -> SigningAction {
        SigningAction(try await container.presignedDownload(of: key, expires: expires), method: "GET")
    }

    // MARK: Parts

    var limits: PartLimits { container.partLimits }
    var threshold: Int64 { container.partThreshold }
    var partSize: Int64? { container.wantedPartSize }

    /// Returns the content type as the upload's name. The service has no uploads: it keeps blocks under the object's
    /// own name, and their names identify the content. Completing an upload needs only the type in addition.
    func begin(_ order: UploadOrder) async throws -> String { order.bytes.contentType ?? "" }

    /// Returns the parts that the service has. The result is never nil: an upload without any blocks has no parts.
    func present(_ ticket: UploadTicket) async throws -> [SigningAnswer.Part]? {
        try await blocks(ticket).blocks.map(SigningAnswer.Part.init)
    }

    func complete(_ ticket: UploadTicket, digests: PartsDigests) async throws -> PartsOutcome {
        let stored = try await blocks(ticket)
        if stored.areAmbiguous {
            // Another caller has sent different bytes before. The service does not show which blocks belong to this
            // caller.
            try await abort(ticket)
            return .lost
        }
        let saysAll = try digests.isSatisfied(by: stored.blocks.map(SigningAnswer.Part.init), of: ticket)
        // The names of blocks prove nothing if the requests did not bind the content.
        let isProven = try await container.bindsContent() && saysAll
        // The reply to an earlier attempt may have been lost.
        if stored.areObject { return isProven ? .done : .unproven(stored.entityTag) }
        let bytes = DeclaredContent(
            byteCount: ticket.bytes.byteCount, sha256: ticket.bytes.sha256,
            contentType: ticket.upload.isEmpty ? nil : ticket.upload)
        switch try await container.complete(stored.blocks, to: ticket.key, bytes: bytes, replaces: ticket.replaces) {
        case .done(let entityTag): return isProven ? .done : .unproven(entityTag)
        case .lost: return .lost
        case .taken: return .taken
        }
    }

    func abort(_ ticket: UploadTicket) async throws { try await container.abandonBlocks(of: ticket.key) }

    private func blocks(_ ticket: UploadTicket) async throws -> AzureStorage.StoredBlocks {
        try await container.blocks(of: ticket.bytes.sha256, at: ticket.key, replaces: ticket.replaces) {
            ticket.size(of: $0)
        }
    }

    // MARK: Objects

    func compare(_ key: ObjectKey, with bytes: DeclaredContent) async throws -> ObjectComparison {
        try await container.compare(key, with: bytes)
    }

    /// Returns an object whose metadata has the SHA-256 of the bytes, if the signature of its upload did not bind the
    /// content.
    func suspect(_ key: ObjectKey, bytes: DeclaredContent) async throws -> RemoteObject? {
        guard try await !container.bindsContent() else { return nil }
        let (object, announced) = try await container.announced(key)
        return announced == bytes.sha256 ? object : nil
    }

    func remove(_ object: RemoteObject) async throws { try await container.remove(object) }

    func create(_ key: ObjectKey, bytes: [UInt8]) async throws -> Bool { try await container.create(key, bytes: bytes) }
}

extension SigningAnswer.Part {
    fileprivate init(_ block: AzureStorage.StoredBlock) {
        self.init(number: Int64(block.number), size: block.byteCount, sha256: nil, md5: block.md5)
    }
}

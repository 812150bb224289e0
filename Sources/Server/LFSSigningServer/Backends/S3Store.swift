import LFSHTTPStorage
import LFSS3
import LFSStorage
import LFSWire

/// A bucket of S3 as the store behind a server.
struct S3Store: ActionSigner, MultipartStore, ObjectStore {
    private let bucket: S3Storage

    init(storage: S3Storage) { bucket = storage }

    var storage: any RemoteStorage { bucket }

    func upload(_ order: UploadOrder, expires: Duration) async throws -> SigningAction {
        let request = try await bucket.presignedUpload(
            of: order.bytes, to: order.key, replaces: order.replaces, expires: expires)
        return SigningAction(request, method: "PUT")
    }

    func part(
        _ number: Int, of ticket: UploadTicket, bytes: DeclaredContent, expires: Duration
    ) async throws -> SigningAction {
        let request = try await bucket.presignedPart(
            number, of: ticket.upload, bytes: bytes, to: ticket.key, expires: expires)
        return SigningAction(request, method: "PUT")
    }

    func download(_ key: ObjectKey, expires: Duration) async throws -> SigningAction {
        SigningAction(try await bucket.presignedDownload(of: key, expires: expires), method: "GET")
    }

    var limits: PartLimits {
        bucket.partLimits ?? PartLimits(maximumCount: 1, minimumSize: 1, maximumSize: 5 << 30)
    }
    var threshold: Int64 { bucket.partThreshold }
    var partSize: Int64? { bucket.wantedPartSize }

    func begin(_ order: UploadOrder) async throws -> String {
        try await bucket.beginParts(of: order.bytes, to: order.key)
    }

    func present(_ ticket: UploadTicket) async throws -> [SigningAnswer.Part]? {
        try await bucket.parts(of: ticket.upload, to: ticket.key)?.map(SigningAnswer.Part.init)
    }

    func complete(_ ticket: UploadTicket, digests: PartsDigests) async throws -> PartsOutcome {
        guard let parts = try await bucket.parts(of: ticket.upload, to: ticket.key) else {
            return try await isCompleted(ticket, digests: digests) ? .done : .lost
        }
        let isProven = try digests.isSatisfied(by: parts.map(SigningAnswer.Part.init), of: ticket)
        let outcome = try await bucket.complete(
            ticket.upload, parts: parts, to: ticket.key, bytes: ticket.bytes, partSize: ticket.partSize,
            partsSHA256: digests.sha256,
            replaces: ticket.replaces)
        switch outcome {
        case .done(let entityTag, let hasChecksum):
            return isProven || hasChecksum ? .done : .unproven(entityTag)
        case .lost: return try await isCompleted(ticket, digests: digests) ? .done : .lost
        case .taken: return .taken
        }
    }

    /// Returns true if an upload that the bucket does not know has become the object. The answer for a replacing upload
    /// is false, because the previous object may have the same parts and may be damaged since.
    private func isCompleted(_ ticket: UploadTicket, digests: PartsDigests) async throws -> Bool {
        guard !ticket.replaces else { return false }
        return try await bucket.isMade(
            ticket.key, of: ticket.bytes, partCount: ticket.partCount, partsSHA256: digests.sha256,
            partsMD5: digests.md5)
    }

    func abort(_ ticket: UploadTicket) async throws { try await bucket.abort(ticket.upload, to: ticket.key) }

    func compare(_ key: ObjectKey, with bytes: DeclaredContent) async throws -> ObjectComparison {
        try await bucket.compare(key, with: bytes)
    }

    func remove(_ object: RemoteObject) async throws { try await bucket.remove(object) }

    func create(_ key: ObjectKey, bytes: [UInt8]) async throws -> Bool { try await bucket.create(key, bytes: bytes) }
}

extension SigningAnswer.Part {
    fileprivate init(_ part: S3Storage.StoredPart) {
        self.init(number: Int64(part.number), size: part.byteCount, sha256: part.sha256, md5: part.md5)
    }
}

import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSWire
import Synchronization

@testable import LFSSigningServer

/// A folder that holds joins and reads of objects until the test opens a gate. It can also give no checksum of the
/// bytes. The mutex owns the counts.
final class GatedStore: MultipartStore, ObjectStore {
    struct Counts: Sendable, Equatable {
        var completions = 0
        var reads = 0
        var creations = 0
    }

    let base: FolderStore
    /// Signals that a join or a read has begun.
    let begun = Signal()
    let gate = Latch()
    /// Returns the wrong checksum of a read object. Nil if the store returns the right one and proves parts.
    let misreads: (@Sendable () async throws -> String)?
    /// True if the store suspects each object.
    private let suspects: Bool
    private let state = Mutex(Counts())

    init(_ base: FolderStore, suspects: Bool = false, misreads: (@Sendable () async throws -> String)? = nil) {
        self.base = base
        self.suspects = suspects
        self.misreads = misreads
    }

    var counts: Counts { state.withLock { $0 } }

    func backend(_ open: OpenStore) -> SigningBackend {
        SigningBackend(
            signer: FolderSigner(links: base.links), parts: self, objects: self, digests: [.sha256],
            partDigests: [.sha256], createsAtomically: true, folder: base)
    }

    var limits: PartLimits { base.limits }
    var threshold: Int64 { base.threshold }
    var partSize: Int64? { base.partSize }

    func begin(_ order: UploadOrder) async throws -> String { try await base.begin(order) }
    func present(_ ticket: UploadTicket) async throws -> [SigningAnswer.Part]? { try await base.present(ticket) }
    func abort(_ ticket: UploadTicket) async throws { try await base.abort(ticket) }

    func complete(_ ticket: UploadTicket, digests: PartsDigests) async throws -> PartsOutcome {
        state.withLock { $0.completions += 1 }
        begun.notify()
        await gate.wait()
        let outcome = try await base.complete(ticket, digests: digests)
        guard misreads != nil, case .done = outcome else { return outcome }
        return .unproven(try await storage.head(ticket.key).entityTag)
    }

    var storage: any RemoteStorage { base.storage }

    func compare(_ key: ObjectKey, with bytes: DeclaredContent) async throws -> ObjectComparison {
        misreads == nil ? try await base.compare(key, with: bytes) : .unknown(try await storage.head(key))
    }

    func suspect(_ key: ObjectKey, bytes: DeclaredContent) async throws -> RemoteObject? {
        suspects ? try await storage.head(key) : nil
    }

    func sha256(of object: RemoteObject) async throws -> String {
        state.withLock { $0.reads += 1 }
        begun.notify()
        await gate.wait()
        return if let misreads { try await misreads() } else { try await base.sha256(of: object) }
    }

    func remove(_ object: RemoteObject) async throws { try await base.remove(object) }
    func delete(_ key: ObjectKey) async throws { try await base.delete(key) }

    func create(_ key: ObjectKey, bytes: [UInt8]) async throws -> Bool {
        state.withLock { $0.creations += 1 }
        return try await base.create(key, bytes: bytes)
    }
}

import LFSStorage
import LFSSystem
import LFSWire
import Synchronization

/// The owners of namespaces. Each owner is stored in an object `claims/<namespace>`, which contains a hash of the
/// caller and never changes.
///
/// The first request for a namespace may have a hundred objects that all need its owner. One call to the store
/// therefore answers all concurrent lookups. The store would process as many conditional writes of one object one after
/// the other, which takes seconds.
///
/// The mutex owns the state. It is never held across a call.
final class NamespaceClaims: Sendable {
    /// The folder of the claims, which contains no objects of callers.
    static let folder = "claims"
    private static let firstLine = "lfs-claim 1"
    private static let cacheLimit = 100_000

    private struct Owner: Sendable {
        /// The hash of the owner, or nil if the namespace has no owner.
        let hash: String?
    }

    private struct Question: Hashable {
        let namespace: String
        /// The hash of the caller who becomes the owner if the namespace has none yet. Nil to leave the namespace
        /// without an owner.
        let claimant: String?
    }

    private let objects: any ObjectStore
    /// Charges a caller, by the short hash, for a claim that is about to be stored.
    private let charge: @Sendable (_ account: String) throws -> Void
    private let lookups = SharedWork<Question, Owner>()
    /// The owners that were read before. A claim never changes, so they stay valid.
    private let known = Mutex<[String: String]>([:])

    /// - Parameter charge: called before a claim is stored. Its error refuses the claim.
    init(_ objects: any ObjectStore, charge: @escaping @Sendable (_ account: String) throws -> Void) {
        self.objects = objects
        self.charge = charge
    }

    /// Returns the hash of a caller, as claims contain it.
    static func hash(_ caller: String) -> String { ContentHash.hex(ofText: "lfs caller\n\(caller)") }

    /// Returns the first digits of the hash, as the log, the budgets and the server's own URLs contain them.
    static func shortHash(_ caller: String) -> String { short(hash(caller)) }

    private static func short(_ hash: String) -> String { String(hash.prefix(16)) }

    /// Stops the current lookups.
    func stop() async { await lookups.stop() }

    /// Returns true if the namespace belongs to a caller, or nil if it has no owner.
    ///
    /// - Throws: `StorageError`, and `CancellationError` if the calling task was cancelled, or after a stop.
    func isOwner(_ caller: String, of namespace: String) async throws -> Bool? {
        try await owner(of: namespace, claimant: nil).map { $0 == Self.hash(caller) }
    }

    /// Gives the namespace to a caller if it has no owner. Of several concurrent callers, only one succeeds.
    ///
    /// - Returns: true if the caller now owns the namespace.
    /// - Throws: the same errors as ``isOwner(_:of:)``, and those of the charge.
    func claim(_ namespace: String, for caller: String) async throws -> Bool {
        let hash = Self.hash(caller)
        return try await owner(of: namespace, claimant: hash) == hash
    }

    private func owner(of namespace: String, claimant: String?) async throws -> String? {
        if let owner = known.withLock({ $0[namespace] }) { return owner }
        let question = Question(namespace: namespace, claimant: claimant)
        let answer = try await lookups.value(for: question, orUntil: nil) { [self] in
            let found = try await read(namespace)
            guard let claimant, found == nil else { return Owner(hash: found) }
            try charge(Self.short(claimant))
            if try await objects.create(Self.key(namespace), bytes: Array("\(Self.firstLine)\n\(claimant)\n".utf8)) {
                remember(namespace, owner: claimant)
                return Owner(hash: claimant)
            }
            return Owner(hash: try await read(namespace))
        }
        return answer?.hash
    }

    /// Reads the owner's hash from the store, or nil if the namespace has no owner.
    private func read(_ namespace: String) async throws -> String? {
        let bytes: [UInt8]
        do {
            bytes = try await objects.storage.prefix(of: Self.key(namespace), 1_024)
        } catch let error as StorageError where error.isMissing {
            return nil
        }
        let text = String(decoding: bytes, as: UTF8.self)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard lines.count == 3, lines[0] == Self.firstLine, WireFormat.isHex(lines[1], byteCount: 32) else {
            throw StorageError(
                .serverError, message: "The claim of a namespace cannot be read. See claims/\(namespace).")
        }
        remember(namespace, owner: lines[1])
        return lines[1]
    }

    private static func key(_ namespace: String) throws(StorageError) -> ObjectKey {
        try ObjectKey("\(folder)/\(namespace)")
    }

    private func remember(_ namespace: String, owner: String) {
        known.withLock { known in
            if known.count >= Self.cacheLimit { known.removeAll() }
            known[namespace] = owner
        }
    }
}

import LFSStorage
import LFSSystem
import LFSWire
import Synchronization

/// Which caller owns which namespace: an object `claims/<namespace>` for each, which holds a hash of the caller and is
/// never changed.
///
/// The first request for a namespace has a hundred objects that all want to know, so one call of the store answers all
/// that ask at the same time: as many conditional writes of one object would take turns in the store, for seconds.
///
/// Owner of its state: the mutex, never held across a call.
final class NamespaceClaims: Sendable {
    /// Where the claims are, and no caller's objects.
    static let folder = "claims"
    private static let firstLine = "lfs-claim 1"
    private static let cacheLimit = 100_000

    private struct Owner: Sendable {
        /// nil for nobody.
        let hash: String?
    }

    private struct Question: Hashable {
        let namespace: String
        /// Who is to have it if it is nobody's; nil to leave it.
        let claimant: String?
    }

    private let objects: any ObjectKeeper
    private let lookups = SharedWork<Question, Owner>()
    /// A claim never changes, so that what was read once stays true.
    private let known = Mutex<[String: String]>([:])

    init(_ objects: any ObjectKeeper) { self.objects = objects }

    /// The hash of a caller, as a claim and the log have it.
    static func hash(_ caller: String) -> String { ContentHash.hex(ofText: "lfs caller\n\(caller)") }

    /// The beginning of the hash, as the log, budgets and the server's own URLs have it.
    static func shortHash(_ caller: String) -> String { String(hash(caller).prefix(16)) }

    /// Ends what is under way.
    func stop() async { await lookups.stop() }

    /// Whether the namespace is a caller's; nil when it is nobody's.
    ///
    /// - Throws: `StorageError`; `CancellationError` when who asks was cancelled, or after a stop.
    func isOwner(_ caller: String, of namespace: String) async throws -> Bool? {
        try await owner(of: namespace, claimant: nil).map { $0 == Self.hash(caller) }
    }

    /// Makes the namespace a caller's if it is nobody's. Of several at the same time one wins.
    ///
    /// - Returns: whether it is the caller's now.
    /// - Throws: as ``isOwner(_:of:)``.
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
            if try await objects.create(Self.key(namespace), Array("\(Self.firstLine)\n\(claimant)\n".utf8)) {
                remember(namespace, claimant)
                return Owner(hash: claimant)
            }
            return Owner(hash: try await read(namespace))
        }
        return answer?.hash
    }

    /// The owner's hash as the store has it; nil where there is none.
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
            throw StorageError(.serverError, "The claim of a namespace cannot be read: see claims/\(namespace).")
        }
        remember(namespace, lines[1])
        return lines[1]
    }

    private static func key(_ namespace: String) throws(StorageError) -> ObjectKey {
        try ObjectKey("\(folder)/\(namespace)")
    }

    private func remember(_ namespace: String, _ owner: String) {
        known.withLock { known in
            if known.count >= Self.cacheLimit { known.removeAll() }
            known[namespace] = owner
        }
    }
}

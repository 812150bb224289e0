import LFSStorage
import LFSSystem
import LFSWire
import Synchronization

/// Which caller owns which namespace: an object `claims/<namespace>` for each, which holds a hash of the caller and is
/// never changed.
///
/// Owner of its state: the mutex, never held across a call.
final class NamespaceClaims: Sendable {
    /// Where the claims are, and no caller's objects.
    static let folder = "claims"
    private static let firstLine = "lfs-claim 1"
    private static let cacheLimit = 100_000

    private let objects: any ObjectKeeper
    /// A claim never changes, so that what was read once stays true.
    private let known = Mutex<[String: String]>([:])

    init(_ objects: any ObjectKeeper) { self.objects = objects }

    /// The hash of a caller, as a claim and the log have it.
    static func hash(_ caller: String) -> String { ContentHash.hex(ofText: "lfs caller\n\(caller)") }

    /// Whether the namespace is a caller's; nil when it is nobody's.
    ///
    /// - Throws: `StorageError`.
    func isOwner(_ caller: String, of namespace: String) async throws -> Bool? {
        try await owner(of: namespace).map { $0 == Self.hash(caller) }
    }

    /// Makes the namespace a caller's if it is nobody's. Of several at the same time one wins.
    ///
    /// - Returns: whether it is the caller's now.
    /// - Throws: `StorageError`.
    func claim(_ namespace: String, for caller: String) async throws -> Bool {
        if let isOwner = try await isOwner(caller, of: namespace) { return isOwner }
        let hash = Self.hash(caller)
        if try await objects.create(Self.key(namespace), Array("\(Self.firstLine)\n\(hash)\n".utf8)) {
            remember(namespace, hash)
            return true
        }
        return try await owner(of: namespace) == hash
    }

    private func owner(of namespace: String) async throws -> String? {
        if let owner = known.withLock({ $0[namespace] }) { return owner }
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

import Foundation
import Synchronization

/// The entries in memory, separated by kind.
///
/// A mutex owns the ring of each kind. It is never held across a call.
final class MemoryLayer: Sendable {
    private final class Kind: Sendable {
        let ring: Mutex<ClockRing>

        init(_ limit: CacheLimit) { ring = Mutex(ClockRing(limit: limit)) }
    }

    /// The kinds with configured limits. A lookup of one of them does not need the lock of the other kinds.
    private let kinds: [CacheKind: Kind]
    private let otherKinds = Mutex<[CacheKind: Kind]>([:])
    private let standard: CacheLimit

    /// - Parameters:
    ///   - limits: the memory limits by kind.
    ///   - standard: the memory limit of all other kinds.
    init(_ limits: [CacheKind: CacheLimit], standard: CacheLimit) {
        kinds = limits.mapValues(Kind.init)
        self.standard = standard
    }

    private func kind(_ kind: CacheKind) -> Kind {
        if let found = kinds[kind] { return found }
        return otherKinds.withLock { others in
            if let found = others[kind] { return found }
            let made = Kind(standard)
            others[kind] = made
            return made
        }
    }

    private var all: [(CacheKind, Kind)] {
        kinds.map { ($0.key, $0.value) } + otherKinds.withLock { $0.map { ($0.key, $0.value) } }
    }

    /// Returns the content of an entry. This counts as a use.
    func content(_ key: CacheKey) -> Data? {
        kind(key.kind).ring.withLock { $0.content(key.name) }
    }

    /// - Parameter isUse: true if the content was read from the disk, where this use is not recorded yet.
    func insert(_ content: Data, key: CacheKey, tags: [CacheTag], isUse: Bool) {
        kind(key.kind).ring.withLock { $0.insert(content, name: key.name, tags: tags, isUse: isUse) }
    }

    func remove(_ keys: some Sequence<CacheKey>) {
        for key in keys { kind(key.kind).ring.withLock { $0.remove(key.name) } }
    }

    func remove(_ selection: Selection) {
        switch selection {
        case .key(let key): remove([key])
        case .tags(let tags):
            for (_, kind) in all { kind.ring.withLock { ring in for tag in tags { ring.remove(tag: tag) } } }
        case .kind(let kind): self.kind(kind).ring.withLock { $0.removeAll() }
        case .all: removeAll()
        }
    }

    func removeAll() {
        for (_, kind) in all { kind.ring.withLock { $0.removeAll() } }
    }

    /// Removes all entries from memory, like ``removeAll()``, but keeps their uses, because the entries stay on the
    /// disk.
    func dropAll() {
        for (_, kind) in all { kind.ring.withLock { $0.dropAll() } }
    }

    func setLimit(_ limit: CacheLimit, of kind: CacheKind) {
        self.kind(kind).ring.withLock { $0.setLimit(limit) }
    }

    func limit(of kind: CacheKind) -> CacheLimit { self.kind(kind).ring.withLock { $0.limit } }

    /// Returns the entries of a kind that were used since the last call, in the order of their last use.
    func takeUses(_ kind: CacheKind) -> [String] { self.kind(kind).ring.withLock { $0.takeUses() } }

    /// Returns the used entries of all kinds, like ``takeUses(_:)``.
    func takeUses() -> [(kind: CacheKind, names: [String])] {
        all.map { kind, held in (kind, held.ring.withLock { $0.takeUses() }) }
    }

    /// Returns the number, cost and hits of the entries of each kind.
    func usage() -> [CacheKind: (count: Int, byteCount: Int, hits: Int)] {
        Dictionary(
            uniqueKeysWithValues: all.map { kind, held in
                (kind, held.ring.withLock { ($0.count, $0.cost, $0.hits) })
            })
    }
}

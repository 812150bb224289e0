import Foundation
import Synchronization

/// The entries in memory, each kind for itself.
///
/// Owner of a kind's ring: its mutex, never held across a call.
final class MemoryLayer: Sendable {
    private final class Kind: Sendable {
        let ring: Mutex<ClockRing>

        init(_ limit: CacheLimit) { ring = Mutex(ClockRing(limit: limit)) }
    }

    /// The kinds that have a limit of their own; a hit looks no further.
    private let kinds: [CacheKind: Kind]
    private let otherKinds = Mutex<[CacheKind: Kind]>([:])
    private let standard: CacheLimit

    /// - Parameters:
    ///   - limits: those of each kind, in memory.
    ///   - standard: that of each other kind.
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

    /// The content of an entry, which counts as a use.
    func content(_ key: CacheKey) -> Data? {
        kind(key.kind).ring.withLock { $0.content(key.name) }
    }

    /// - Parameter isUse: whether it comes from the disk, where nobody knows of this use yet.
    func insert(_ content: Data, _ key: CacheKey, tags: [CacheTag], isUse: Bool) {
        kind(key.kind).ring.withLock { $0.insert(content, key.name, tags: tags, isUse: isUse) }
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

    /// As ``removeAll()``, for entries that stay on the disk: their uses count there.
    func dropAll() {
        for (_, kind) in all { kind.ring.withLock { $0.dropAll() } }
    }

    func setLimit(_ limit: CacheLimit, of kind: CacheKind) {
        self.kind(kind).ring.withLock { $0.setLimit(limit) }
    }

    func limit(of kind: CacheKind) -> CacheLimit { self.kind(kind).ring.withLock { $0.limit } }

    /// The entries of a kind that were used since this was asked last, in the order of their last use.
    func takeUses(_ kind: CacheKind) -> [String] { self.kind(kind).ring.withLock { $0.takeUses() } }

    /// As ``takeUses(_:)``, of all kinds.
    func takeUses() -> [(kind: CacheKind, names: [String])] {
        all.map { kind, held in (kind, held.ring.withLock { $0.takeUses() }) }
    }

    /// What is held of each kind, and how often something was found.
    func usage() -> [CacheKind: (count: Int, byteCount: Int, hits: Int)] {
        Dictionary(
            uniqueKeysWithValues: all.map { kind, held in
                (kind, held.ring.withLock { ($0.count, $0.cost, $0.hits) })
            })
    }
}

/// A selection of entries to remove together.
enum Selection: Sendable {
    case key(CacheKey)
    case tags(Set<CacheTag>)
    case kind(CacheKind)
    case all

    /// Returns true if the selection contains an entry.
    func contains(_ key: CacheKey, tags: Set<CacheTag>) -> Bool {
        switch self {
        case .key(let own): own == key
        case .tags(let own): !own.isDisjoint(with: tags)
        case .kind(let kind): kind == key.kind
        case .all: true
        }
    }
}

/// The set of keys that take part in a round.
struct CompanionScope: Sendable {
    let registry: Registry
    /// True if the app has requested the round. Keys with manual sync then take part.
    let includesManual: Bool
    /// True if the root key is available. Without it encrypted values can be neither read nor written.
    let hasRootKey: Bool
    /// The names of keys in the database that other keys have replaced.
    private let moved: Set<String>

    init(registry: Registry, includesManual: Bool, hasRootKey: Bool) {
        self.registry = registry
        self.includesManual = includesManual
        self.hasRootKey = hasRootKey
        let sources = registry.all.flatMap(\.info.migrationSources)
        moved = Set(sources.filter(\.domain.isDatabase).map(\.name))
    }

    /// Returns the entry of a key that takes part, or nil for other keys.
    func participant(_ name: String) -> KeyInfo? {
        guard let info = registry.entry(forStored: name)?.info, Self.isShared(info) else { return nil }
        if case .manual = info.sync, !includesManual { return nil }
        return info.security == .none || hasRootKey ? info : nil
    }

    /// Returns true if the app no longer syncs the key, or has moved it to another name. Its published entry is then
    /// withdrawn.
    func staysHere(_ name: String) -> Bool {
        guard let entry = registry.entry(forStored: name) else { return moved.contains(name) }
        return entry.info.sync == .never
    }

    /// Returns true if this version of the app knows the key.
    func knows(_ name: String) -> Bool {
        registry.entry(forStored: name)?.info.availability.contains(.here) ?? false
    }

    static func isShared(_ info: KeyInfo) -> Bool {
        info.sync != .never && info.domain.isDatabase && info.availability.contains(.here)
    }
}

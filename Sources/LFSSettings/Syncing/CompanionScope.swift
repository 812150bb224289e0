/// Which keys take part in a round.
struct CompanionScope: Sendable {
    let registry: Registry
    /// Whether the app has asked for the round: keys that go by hand take part then.
    let includesManual: Bool
    /// Whether the root key is there, without which encrypted values can be neither read nor written.
    let hasRootKey: Bool
    /// Keys of the database that others have taken the place of.
    private let moved: Set<String>

    init(registry: Registry, includesManual: Bool, hasRootKey: Bool) {
        (self.registry, self.includesManual, self.hasRootKey) = (registry, includesManual, hasRootKey)
        let sources = registry.all.flatMap { $0.info.migrationKeys() }
        moved = Set(sources.filter(\.domain.isDatabase).map(\.name))
    }

    /// What is known of a key that takes part; nil for others.
    func participant(_ name: String) -> KeyInfo? {
        guard let info = registry.entry(forStored: name)?.info, Self.isShared(info) else { return nil }
        if case .manual = info.sync, !includesManual { return nil }
        return info.security == .none || hasRootKey ? info : nil
    }

    /// Whether the app says that the key stays on this device, or has moved it to another name: what was published of
    /// it before is withdrawn.
    func staysHere(_ name: String) -> Bool {
        guard let entry = registry.entry(forStored: name) else { return moved.contains(name) }
        return entry.info.sync == .never
    }

    /// Whether an app of this version knows the key.
    func knows(_ name: String) -> Bool {
        registry.entry(forStored: name)?.info.availability.contains(.here) ?? false
    }

    /// Whether the values of a key go to other devices.
    static func isShared(_ info: KeyInfo) -> Bool {
        info.sync != .never && info.domain.isDatabase && info.availability.contains(.here)
    }
}

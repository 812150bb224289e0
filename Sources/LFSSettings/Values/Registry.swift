import LFSSystem

/// The keys of all catalogs, by their names.
struct Registry: Sendable {
    /// A key, and the name of the catalog that has it.
    struct Entry: Sendable {
        let catalog: String
        let info: KeyInfo
    }

    /// Keys, and families by the names that their members begin with.
    private let entries: [String: Entry]

    /// In the order of their names.
    let all: [Entry]

    /// Those of this platform.
    var here: [KeyInfo] { all.filter { $0.info.availability.contains(.here) }.map(\.info) }

    /// - Throws: ``SettingsError/Code/invalidName``, ``SettingsError/Code/duplicate``,
    ///   ``SettingsError/Code/illegalPair``.
    init(_ keys: [Entry]) throws(SettingsError) {
        var entries = [String: Entry](minimumCapacity: keys.count)
        for key in keys {
            try Self.check(key.info)
            if let other = entries[key.info.name] { throw Self.duplicate(key, other) }
            entries[key.info.name] = key
        }
        for family in entries.values where family.info.isFamily {
            let prefix = family.info.name + "."
            if let other = entries.values.first(where: { $0.info.name.hasPrefix(prefix) }) {
                throw Self.duplicate(other, family)
            }
        }
        self.entries = entries
        all = keys.sorted { $0.info.name < $1.info.name }
    }

    /// What is registered for a key.
    ///
    /// - Throws: ``SettingsError/Code/unregistered``, ``SettingsError/Code/unavailable``.
    func entry<Value>(of key: StorageKey<Value>) throws(SettingsError) -> Entry {
        guard let entry = entries[key.family ?? key.name], entry.info.isFamily == (key.family != nil),
            StorageLimits.isName(key.name)
        else {
            throw SettingsError(
                .unregistered,
                "No catalog has the key \(key.publicName). Add it to a StorageCatalog that the router is opened with.",
                key: key.publicName)
        }
        let info = entry.info
        guard info.typeID == ObjectIdentifier(Value.self), info.domain == key.domain, info.security == key.security,
            info.serializer == key.serializer.id, info.version == key.serializer.version,
            info.onUndecodable == key.onUndecodable, info.sync == key.sync, info.availability == key.availability
        else {
            throw SettingsError(
                .unregistered,
                """
                The catalog “\(entry.catalog)” has another key of the name \(key.publicName): one of type, \
                domain, security, serializer, onUndecodable, sync and availability is not that of this one. Use one \
                declaration for both.
                """,
                key: key.publicName)
        }
        guard info.availability.contains(.here) else {
            throw SettingsError(
                .unavailable, "The key \(key.publicName) is not for this platform. Its availability says for which.",
                key: key.publicName)
        }
        return entry
    }

    /// What is registered for a stored name, which may be of a family's member.
    func entry(forStored name: String) -> Entry? {
        if let entry = entries[name], !entry.info.isFamily { return entry }
        var prefix = name[...]
        while let point = prefix.lastIndex(of: ".") {
            prefix = prefix[..<point]
            if let entry = entries[String(prefix)], entry.info.isFamily { return entry }
        }
        return nil
    }

    private static func check(_ info: KeyInfo) throws(SettingsError) {
        guard StorageLimits.isName(info.name),
            !info.isFamily || info.name.utf8.count <= StorageKey<Int>.Family.longestName
        else {
            throw SettingsError(
                .invalidName,
                """
                \(info.name.debugDescription) cannot be the name of a key: it has other characters than letters, \
                digits, points and dashes, or is longer than \(StorageLimits.name) bytes \
                (\(StorageKey<Int>.Family.longestName) for a family).
                """)
        }
        guard info.domain.allows(info.security) else {
            throw SettingsError(
                .illegalPair,
                """
                The key \(info.name) is \(info.security) in \(info.domain), which does not go together: encryption is \
                for .database and .file. A key chain keeps secrets by itself.
                """,
                key: info.name)
        }
        guard info.onUndecodable == .fail || !info.isSecret else {
            throw SettingsError(
                .illegalPair, "The key \(info.name) has a secret, which no default replaces. Leave out onUndecodable.",
                key: info.name)
        }
        guard info.migrate == nil || !info.migrationKeys().contains(where: { $0.sourceName == info.sourceName }) else {
            throw SettingsError(
                .illegalPair,
                """
                A migration of the key \(info.publicName) reads the key's own place. Give the key another name, or \
                change the value in a DataStep.
                """,
                key: info.publicName)
        }
        guard info.sync == .never || info.domain.isDatabase else {
            throw SettingsError(
                .illegalPair, "The key \(info.name) is to go to other devices, for which it has to be in .database.",
                key: info.name)
        }
    }

    private static func duplicate(_ key: Entry, _ other: Entry) -> SettingsError {
        SettingsError(
            .duplicate,
            """
            The key \(key.info.name) of the catalog “\(key.catalog)” has a name that \(other.info.name) of \
            “\(other.catalog)” has taken. Give it another one.
            """,
            key: key.info.name)
    }
}

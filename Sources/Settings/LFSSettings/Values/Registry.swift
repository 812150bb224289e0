import LFSSystem
import Synchronization

struct Registry: Sendable {
    struct Entry: Sendable {
        let catalog: String
        let info: KeyInfo
    }

    /// The keys by name, and the families by the prefix of their members' names.
    private let entries: [String: Entry]

    let all: [Entry]

    /// The keys and catalogs whose data could not be migrated yet.
    let pending = PendingMigrations()

    var here: [KeyInfo] { all.filter { $0.info.availability.contains(.here) }.map(\.info) }

    /// - Throws: ``SettingsError/Code/invalidName``, ``SettingsError/Code/duplicate``,
    ///   ``SettingsError/Code/illegalPair``.
    init(_ keys: [Entry]) throws(SettingsError) {
        var entries = [String: Entry](minimumCapacity: keys.count)
        for key in keys {
            try Self.check(key.info)
            if let other = entries[key.info.name] { throw Self.duplicate(key, other: other) }
            entries[key.info.name] = key
        }
        for family in entries.values where family.info.isFamily {
            let prefix = family.info.name + "."
            if let other = entries.values.first(where: { $0.info.name.hasPrefix(prefix) }) {
                throw Self.duplicate(other, other: family)
            }
        }
        self.entries = entries
        all = keys.sorted { $0.info.name < $1.info.name }
    }

    /// Returns the registered entry of a key.
    ///
    /// - Throws: ``SettingsError/Code/unregistered``, ``SettingsError/Code/unavailable``.
    func entry<Value>(of key: StorageKey<Value>) throws(SettingsError) -> Entry {
        guard let entry = entries[key.family ?? key.name], entry.info.isFamily == (key.family != nil),
            StorageLimits.isName(key.name)
        else {
            throw SettingsError(
                .unregistered,
                message: """
                    No catalog has the key \(key.publicName). Add it to a StorageCatalog that the router is opened \
                    with.
                    """,
                key: key.publicName)
        }
        let info = entry.info
        guard info.typeID == ObjectIdentifier(Value.self), info.domain == key.domain, info.security == key.security,
            info.serializer == key.serializer.id, info.version == key.serializer.version,
            info.onUndecodable == key.onUndecodable, info.sync == key.sync, info.availability == key.availability
        else {
            throw SettingsError(
                .unregistered,
                message: """
                    The catalog “\(entry.catalog)” has another key with the name \(key.publicName). The two differ in \
                    type, domain, security, serializer, onUndecodable, sync or availability. Use one declaration for \
                    both.
                    """,
                key: key.publicName)
        }
        guard info.availability.contains(.here) else {
            throw SettingsError(
                .unavailable,
                message: "The key \(key.publicName) is not available on this platform. Check its availability.",
                key: key.publicName)
        }
        return entry
    }

    /// Returns the registered form of a key whose catalog is migrated to its version.
    ///
    /// - Throws: the errors of ``entry(of:)``, and ``SettingsError/Code/migrationFailed``.
    func usable<Value>(_ key: StorageKey<Value>) throws(SettingsError) -> KeyInfo {
        let entry = try entry(of: key)
        try pending.checkCatalog(entry.catalog, key: entry.info.publicName)
        return entry.info
    }

    /// Returns the registered entry for a stored name, which may be a member of a family.
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
                message: """
                    \(info.name.debugDescription) cannot be the name of a key. It contains characters other than \
                    letters, digits, periods and dashes, or is longer than \(StorageLimits.name) bytes \
                    (\(StorageKey<Int>.Family.longestName) for a family).
                    """)
        }
        guard info.domain.allows(info.security) else {
            throw SettingsError(
                .illegalPair,
                message: """
                    The key \(info.name) cannot be \(info.security) in \(info.domain). Encryption is for .database and \
                    .file. A key chain protects its secrets already.
                    """,
                key: info.name)
        }
        guard info.onUndecodable == .fail || !info.isSecret else {
            throw SettingsError(
                .illegalPair,
                message: """
                    The key \(info.name) holds a secret, which a default cannot replace. Leave out onUndecodable.
                    """,
                key: info.name)
        }
        guard !info.migrationSources.contains(where: { $0.sourceName == info.sourceName }) else {
            throw SettingsError(
                .illegalPair,
                message: """
                    A migration of the key \(info.publicName) reads the key's own place. Give the key another name, or \
                    change the value in a DataStep.
                    """,
                key: info.publicName)
        }
        guard info.sync == .never || info.domain.isDatabase else {
            throw SettingsError(
                .illegalPair,
                message: "The key \(info.name) is synced with other devices, so it has to be in .database.",
                key: info.name)
        }
    }

    private static func duplicate(_ key: Entry, other: Entry) -> SettingsError {
        SettingsError(
            .duplicate,
            message: """
                The key \(key.info.name) of the catalog “\(key.catalog)” has a name that \(other.info.name) of \
                “\(other.catalog)” already uses. Give it another name.
                """,
            key: key.info.name)
    }
}

extension KeyInfo {
    /// Runs a body for the key or a member of the family. Errors do not contain the id of a member, not even as part of
    /// a file name.
    @discardableResult
    func catching<Result>(name: String, _ body: () async throws -> Result) async throws -> Result {
        do {
            return try await SettingsError.catching(publicName, body)
        } catch let error as SettingsError where isFamily {
            throw error.hiding([FileName.of(name), name])
        }
    }
}

/// The keys and catalogs whose data could not be migrated yet, with the errors.
///
/// One mutex owns the lists.
final class PendingMigrations: Sendable {
    private struct Problems {
        var keys: [String: SettingsError] = [:]
        var catalogs: [String: SettingsError] = [:]
    }

    private let problems = Mutex(Problems())

    var names: [String] { problems.withLock { $0.keys.keys.sorted() } }
    var catalogs: [String] { problems.withLock { $0.catalogs.keys.sorted() } }

    func add(_ name: String, problem: SettingsError) { problems.withLock { $0.keys[name] = problem } }

    func add(catalog: String, _ problem: SettingsError) { problems.withLock { $0.catalogs[catalog] = problem } }

    func clear() { problems.withLock { $0 = Problems() } }

    /// Returns the error for a key without a value whose earlier value may still exist, or nil for other keys. It does
    /// not apply if the database records that the key was migrated or removed, which callers check.
    func problem(_ name: String) -> SettingsError? {
        guard let problem = problems.withLock({ $0.keys[name] }) else { return nil }
        return SettingsError(
            .migrationPending,
            message: """
                The earlier value of \(name) could not be migrated yet and is kept: \(problem.message) The migration \
                is retried when a router opens. A value that is set replaces the earlier one.
                """,
            key: name, cause: problem)
    }

    /// - Throws: ``SettingsError/Code/migrationFailed`` for a catalog whose data has an earlier version. The values of
    ///   its keys may belong to either version.
    func checkCatalog(_ catalog: String, key: String) throws(SettingsError) {
        guard let problem = problems.withLock({ $0.catalogs[catalog] }) else { return }
        throw SettingsError(
            .migrationFailed,
            message: """
                The data of the catalog “\(catalog)” could not be migrated to its version when the router opened: \
                \(problem.message) Until then its keys can be removed. The migration is retried when a router opens.
                """,
            key: key, cause: problem)
    }
}

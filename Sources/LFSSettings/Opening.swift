import Crypto
import Foundation
import GRDB
import LFSDatabase
import LFSSystem
import Logging

/// What a router is made of, and the work of its opening.
struct Opening: Sendable {
    let access: ValueAccess
    let catalogs: [StorageCatalog]
    let options: StorageOptions
    let found: OpeningState
    let companionRunners: [CompanionRunner]

    init(_ database: any DatabaseWriter, _ catalogs: [StorageCatalog], _ options: StorageOptions) async throws {
        let registry = try Registry(
            catalogs.flatMap { catalog in catalog.keys.map { Registry.Entry(catalog: catalog.name, info: $0) } })
        try Self.requireDistinct(catalogs)
        let runner = BackgroundRunner(database, touch: SettingsStateTable.touch)
        // The app's own writes wait for other processes from now on, as those of the router do.
        try await runner.withWriter { _ in }
        let here = registry.here
        let found = try await runner.read { db in try OpeningState(here, db) }
        let (state, path) = (found.state, found.databasePath)
        let keychain = try options.keychain.map {
            let owner = SecretOwner(installID: state.installID, databasePath: path, clock: options.clock)
            return KeychainStore(secrets: try $0.makeStore(owner), installID: state.installID, runner: runner)
        }
        try Self.requireConfigured(here, options)
        for transport in options.companions.transports { try Self.requireFitting(here, transport) }
        let source = try options.rootKey.map { try Self.source($0, keychain, options.now) }
        let lock = DatabaseLock(databasePath: path, .rootKey)
        let ring = KeyRing(runner, lock, installID: state.installID, source: source, now: options.now)
        let stores = try StoreSet(
            runner, installID: state.installID, databasePath: path, keychain: keychain,
            domains: Set(here.map(\.domain)), now: options.now)
        access = ValueAccess(
            registry: registry, runner: runner, stores: stores, sealing: Sealing(ring: ring, now: options.now),
            pending: PendingMigrations(), resets: SettingsReset(runner: runner, stores: stores, databasePath: path),
            hub: ChangeHub())
        (self.catalogs, self.options, self.found) = (catalogs, options, found)
        companionRunners = options.companions.transports.map { [access] transport in
            CompanionRunner(
                transport, access, deviceID: state.installID, resetCount: state.resetCount,
                options: options.companions, clock: options.clock, logger: options.logger)
        }
    }

    /// Finishes what a crash has left, and brings the data to the present version.
    func run() async throws {
        let catalogWork = CatalogMigration(catalogs: catalogs, access: access)
        try catalogWork.requireKnown(found.versions)
        for store in access.stores.fileStores {
            await reporting("The folder \(store.path) cannot be used") {
                try await store.prepare(isNoted: found.isNoted(store.notes))
            }
        }
        await reporting("What was removed cannot go yet") { try await access.resets.finish(found.state) }
        await reporting("The root key cannot be used") {
            if let keys = try found.keys() { try await access.sealing.ring.load(keys) }
        }
        let keyWork = KeyMigrator(
            access: access, previousAppVersions: found.versions.compactMapValues(\.app), logger: options.logger)
        // Anew: what came before may have taken its time, and another process the data to a later version.
        let (hasData, hasKeys) = (try await catalogWork.isNeeded(), try await keyWork.isNeeded())
        if hasData || hasKeys {
            try await DatabaseLock(databasePath: found.databasePath, .settings).run {
                access.pending.clear()
                try await catalogWork.run { catalog, error in
                    options.logger?.warning("The data of the catalog \(catalog) wait: \(error.code). \(error.message)")
                }
                try await keyWork.run()
            }
        }
        try await noteAppVersion()
    }

    /// A catalog is told of the version of its own data: an app and its extension may open with other ones.
    private func noteAppVersion() async throws {
        guard let version = options.appVersion else { return }
        // A migration that waits asks for the former version again.
        let waiting = Set(access.pending.catalogs).union(
            access.pending.names.compactMap { access.registry.entry(forStored: $0)?.catalog })
        let names = catalogs.map(\.name).filter { !waiting.contains($0) && found.versions[$0]?.app != version }
        if names.isEmpty { return }
        try await access.runner.write { db in try CatalogTable.noteAppVersion(version, of: names, db) }
    }

    /// Runs a body whose failure concerns some keys only: each call for one of them tries again, and throws it.
    private func reporting(_ what: String, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            let error = SettingsError.wrapping(error, nil) as? SettingsError
            options.logger?.warning("\(what): \(error.map { "\($0.code). \($0.message)" } ?? "an error of the app")")
        }
    }

    private static func requireDistinct(_ catalogs: [StorageCatalog]) throws {
        for (index, catalog) in catalogs.enumerated() {
            guard !catalogs[..<index].contains(where: { $0.name == catalog.name }) else {
                throw SettingsError(
                    .duplicate, "Two catalogs have the name “\(catalog.name)”. Give one of them another name.")
            }
            guard StorageLimits.isName(catalog.name), catalog.version >= 1 else {
                throw SettingsError(
                    .invalidName,
                    """
                    A catalog has a version from 1 on, and a name of letters, digits, points and dashes: \
                    \(catalog.name.debugDescription), \(catalog.version).
                    """)
            }
            try requireSteps(catalog)
        }
    }

    private static func requireSteps(_ catalog: StorageCatalog) throws {
        var seen: Set<Int> = []
        for step in catalog.steps {
            guard (1..<max(catalog.version, 1)).contains(step.version) else {
                throw SettingsError(
                    .invalidStep,
                    """
                    The catalog “\(catalog.name)” has a step from version \(step.version), and its own version is \
                    \(catalog.version): the step would never run. Raise the catalog's version, or remove the step.
                    """)
            }
            guard seen.insert(step.version).inserted else {
                throw SettingsError(
                    .invalidStep,
                    """
                    The catalog “\(catalog.name)” has two steps from version \(step.version), of which one would never \
                    run. Make one of them.
                    """)
            }
        }
    }

    private static func requireConfigured(_ keys: [KeyInfo], _ options: StorageOptions) throws {
        if let key = keys.first(where: { $0.security != .none }), options.rootKey == nil {
            throw SettingsError(
                .notConfigured,
                "The key \(key.name) is encrypted. Set StorageOptions.rootKey, such as .keyFile(…).", key: key.name)
        }
        if let key = keys.first(where: { $0.domain.word == "keychain" }), options.keychain == nil {
            throw SettingsError(
                .notConfigured,
                """
                The key \(key.name) is in the key chain, and none is chosen by itself. Set StorageOptions.keychain, \
                such as .sealedFile(at:key:).
                """,
                key: key.name)
        }
    }

    private static func requireFitting(_ keys: [KeyInfo], _ transport: any CompanionTransport) throws {
        for key in keys where CompanionScope.isShared(key) {
            guard !key.isSecret || transport.isConfidential else {
                throw SettingsError(
                    .notConfidential,
                    """
                    The key \(key.name) is encrypted, and \(transport.name) may be read by others. Leave out sync, or \
                    name a transport that is confidential.
                    """,
                    key: key.name)
            }
            let limit = min(key.domain.limit, key.sync.limit ?? .max)
            let needed = CompanionState.byteCount(ofLargest: limit, key)
            guard needed <= transport.limits.stateByteCount else {
                throw SettingsError(
                    .illegalPair,
                    """
                    Values of the key \(key.name) have up to \(limit) bytes, \(needed) in a state with nothing else, \
                    and \(transport.name) carries \(transport.limits.stateByteCount) of all keys. Give it a smaller \
                    maxByteCount.
                    """,
                    key: key.name)
            }
        }
    }

    private static func source(
        _ source: KeySource, _ keychain: KeychainStore?, _ now: @escaping @Sendable () -> Int64
    ) throws -> KeyRing.Source {
        switch source.kind {
        case .closures(let load, let make): return KeyRing.Source(load: load, make: make)
        case .keychain:
            guard let keychain else {
                throw SettingsError(
                    .notConfigured, "The root key is to be in the key chain: set StorageOptions.keychain as well.")
            }
            let name = KeychainStore.rootKey
            return KeyRing.Source(
                load: { _ in try await keychain.read(name).map { SymmetricKey(data: $0.content.bytes) } },
                make: {
                    let key = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
                    let value = StoredValue(
                        SerializedValue(serializer: "key", version: 1, bytes: key), updatedAt: now())
                    // Another process may have made one by now.
                    try await keychain.update(name, keys: .none) { read, _ in try read() == nil ? .put(value) : .keep }
                    return nil
                })
        }
    }
}

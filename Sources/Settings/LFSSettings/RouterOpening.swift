import Crypto
import Foundation
import GRDB
import LFSDatabase
import LFSSystem
import Logging

/// The parts of a router, and the work of opening it.
struct RouterOpening: Sendable {
    let access: ValueAccess
    let catalogs: [StorageCatalog]
    let options: StorageOptions
    /// The versions of the data before this opening, by the names of the catalogs.
    let versions: [String: CatalogTable.Versions]
    private let databasePath: String
    let companionRunners: [CompanionRunner]

    init(_ database: any DatabaseWriter, catalogs: [StorageCatalog], options: StorageOptions) async throws {
        let registry = try Registry(
            catalogs.flatMap { catalog in catalog.keys.map { Registry.Entry(catalog: catalog.name, info: $0) } })
        try Self.requireDistinct(catalogs)
        let runner = BackgroundRunner(database, touch: SettingsStateTable.touch)
        // From now on the app's own writes wait for locks of other processes too, because the runner sets a busy
        // timeout.
        try await runner.withWriter { _ in }
        let here = registry.here
        let (state, path, versions) = try await runner.read { db in
            (try SettingsStateTable.read(db), db.mainPath, try CatalogTable.versions(db))
        }
        let keychain = try options.keychain.map {
            let owner = SecretOwner(installID: state.installID, databasePath: path, clock: options.clock)
            return KeychainStore(secrets: try $0.makeStore(owner), installID: state.installID, runner: runner)
        }
        try Self.requireConfigured(here, options: options)
        for transport in options.companions.transports { try Self.requireFitting(here, transport: transport) }
        let source = try options.rootKey.map { try Self.source($0, keychain: keychain, options.now) }
        let lock = DatabaseLock(databasePath: path, .rootKey)
        let ring = KeyRing(runner, lock: lock, installID: state.installID, source: source, now: options.now)
        let stores = try StoreSet(
            runner, installID: state.installID, databasePath: path, keychain: keychain,
            domains: Set(here.map(\.domain)))
        access = ValueAccess(
            registry: registry, runner: runner, stores: stores, ring: ring,
            resets: SettingsReset(
                runner: runner, stores: stores, lock: DatabaseLock(databasePath: path, .removal)),
            hub: ChangeHub(), now: options.now)
        self.catalogs = catalogs
        self.options = options
        self.versions = versions
        databasePath = path
        companionRunners = options.companions.transports.map { [access] transport in
            CompanionRunner(
                transport, access: access, deviceID: state.installID, resetCount: state.resetCount,
                options: options.companions, clock: options.clock, logger: options.logger)
        }
    }

    /// Finishes the work that a crash interrupted, and migrates the data to the current version.
    func run() async throws {
        let catalogWork = CatalogMigration(catalogs: catalogs, access: access)
        try catalogWork.requireKnown(versions)
        for store in access.stores.fileStores {
            await reporting("The folder \(store.path) cannot be used") { try await store.prepare() }
        }
        await reporting("A reset cannot finish yet") { try await access.resets.finish() }
        await reporting("The root key cannot be used") {
            if access.registry.here.contains(where: { $0.security != .none }) { try await access.ring.load() }
        }
        let keyWork = KeyMigrator(
            access: access, previousAppVersions: versions.compactMapValues(\.app), logger: options.logger)
        // Checked again: the steps above may have taken long, and another process may have migrated the data.
        let (hasData, hasKeys) = (try await catalogWork.isNeeded(), try await keyWork.isNeeded())
        if hasData || hasKeys {
            try await DatabaseLock(databasePath: databasePath, .settings).run {
                access.pending.clear()
                try await catalogWork.run { catalog, error in
                    options.logger?.warning(
                        "The data of the catalog \(catalog) cannot be migrated: \(error.code). \(error.message)")
                }
                try await keyWork.run()
            }
        }
        try await noteAppVersion()
    }

    /// Records the app's version separately for each catalog, because an app and its extension may open different
    /// catalogs.
    private func noteAppVersion() async throws {
        guard let version = options.appVersion else { return }
        // A pending migration needs the former version again.
        let waiting = Set(access.pending.catalogs).union(
            access.pending.names.compactMap { access.registry.entry(forStored: $0)?.catalog })
        let names = catalogs.map(\.name).filter { !waiting.contains($0) && versions[$0]?.app != version }
        if names.isEmpty { return }
        try await access.runner.write { db in try CatalogTable.noteAppVersion(version, of: names, db) }
    }

    /// Runs a body whose failure affects some keys only. Each call for one of them tries again and throws the error.
    private func reporting(_ what: String, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            let error = SettingsError.wrapping(error, key: nil) as? SettingsError
            options.logger?.warning("\(what): \(error.map { "\($0.code). \($0.message)" } ?? "an error from the app")")
        }
    }

    private static func requireDistinct(_ catalogs: [StorageCatalog]) throws {
        for (index, catalog) in catalogs.enumerated() {
            guard !catalogs[..<index].contains(where: { $0.name == catalog.name }) else {
                throw SettingsError(
                    .duplicate, message: "Two catalogs have the name “\(catalog.name)”. Give one of them another name.")
            }
            guard StorageLimits.isName(catalog.name), catalog.version >= 1 else {
                throw SettingsError(
                    .invalidName,
                    message: """
                        A catalog needs a version of at least 1 and a name of letters, digits, periods and dashes: \
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
                    message: """
                        The catalog “\(catalog.name)” has a step from version \(step.version), and its own version is \
                        \(catalog.version), so the step would never run. Raise the catalog's version, or remove the \
                        step.
                        """)
            }
            guard seen.insert(step.version).inserted else {
                throw SettingsError(
                    .invalidStep,
                    message: """
                        The catalog “\(catalog.name)” has two steps from version \(step.version), so one of them would \
                        never run. Combine them into one.
                        """)
            }
        }
    }

    private static func requireConfigured(_ keys: [KeyInfo], options: StorageOptions) throws {
        if let key = keys.first(where: { $0.security != .none }), options.rootKey == nil {
            throw SettingsError.noRootKey.about(key.name)
        }
        if let key = keys.first(where: { $0.domain.word == "keychain" }), options.keychain == nil {
            throw SettingsError.noKeychain.about(key.name)
        }
    }

    private static func requireFitting(_ keys: [KeyInfo], transport: any CompanionTransport) throws {
        for key in keys where CompanionScope.isShared(key) {
            guard !key.isSecret || transport.isConfidential else {
                throw SettingsError(
                    .notConfidential,
                    message: """
                        The key \(key.name) is encrypted, but others may be able to read \(transport.name). Leave out \
                        sync, or use a confidential transport.
                        """,
                    key: key.name)
            }
            let limit = min(key.domain.limit, key.sync.limit ?? .max)
            let needed = CompanionState.byteCount(ofLargest: limit, key)
            guard needed <= transport.limits.stateByteCount else {
                throw SettingsError(
                    .illegalPair,
                    message: """
                        Values of the key \(key.name) have up to \(limit) bytes, and a state with nothing else has \
                        \(needed), but \(transport.name) carries only \(transport.limits.stateByteCount) for all keys. \
                        Give the key a smaller maxByteCount.
                        """,
                    key: key.name)
            }
        }
    }

    private static func source(
        _ source: KeySource, keychain: KeychainStore?, _ now: @escaping @Sendable () -> Int64
    ) throws -> KeySource.Closures {
        switch source.kind {
        case .closures(let closures): return closures
        case .keychain:
            guard let keychain else { throw SettingsError.noKeychain }
            let name = KeychainStore.rootKey
            return KeySource.Closures(
                load: { _ in try await keychain.read(name).map { SymmetricKey(data: $0.content.bytes) } },
                make: {
                    let key = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
                    let value = StoredValue(
                        SerializedValue(serializer: "key", version: 1, bytes: key), updatedAt: now())
                    // Another process may have made a key in the meantime.
                    try await keychain.update(name, ring: nil) { read, _ in try read() == nil ? .put(value) : .keep }
                    return nil
                })
        }
    }
}

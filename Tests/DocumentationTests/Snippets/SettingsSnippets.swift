import Foundation
import GRDB
import LFS
import LFSPassphrase
import LFSSecretService
import LFSSettings
import LFSSignedURL
import LFSStorage

#if canImport(WatchConnectivity)
import WatchConnectivity
#endif

// snippet
extension StorageKey<Bool> {
    static var backupRequiresWiFi: Self { .init("backup.requiresWiFi", default: true) }
}

func openSettings(_ database: DatabasePool) async throws -> StorageRouter {
    var migrator = DatabaseMigrator()
    migrator.registerLFSSettingsMigrations()  // or use the app's own migrator
    try migrator.migrate(database)
    let catalog = StorageCatalog("recipes") { StorageKey<Bool>.backupRequiresWiFi }
    let storage = try await StorageRouter.open(database, catalogs: [catalog])
    try await storage.set(false, for: .backupRequiresWiFi)  // as durable as any commit of the app
    return storage
}
// end

// snippet
extension StorageKey<String> {
    static var themeMode: Self { .init("view.themeMode", default: "system") }
    static var accessToken: Self { .init("account.accessToken", domain: .keychain()) }  // no default
    static var serverNote: Self { .init("account.note", security: .encrypted) }
}

func openSecrets(_ database: DatabasePool, state: URL) async throws -> StorageRouter {
    // The folder has to exist, and no other user may write to it.
    try FileManager.default.createDirectory(
        at: state, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    var migrator = DatabaseMigrator()
    migrator.registerLFSSettingsMigrations()
    try migrator.migrate(database)
    let catalog = StorageCatalog("account", version: 1) {
        StorageKey<String>.themeMode
        StorageKey<String>.accessToken
        StorageKey<String>.serverNote
    }
    let keys = state.appendingPathComponent("keys")
    let options = StorageOptions(
        appVersion: "2.4.0", rootKey: .keyFile(keys.appendingPathComponent("root").path),
        keychain: .sealedFile(
            at: state.appendingPathComponent("secrets").path,
            key: .keyFile(keys.appendingPathComponent("secrets").path)))
    return try await StorageRouter.open(database, catalogs: [catalog], options: options)
}
// end

private func apply(_ mode: String) {}

private func use(_ storage: StorageRouter, database: DatabasePool) async throws {
    // snippet
    let mode = try await storage.get(.themeMode)  // the default if nothing is stored
    let token = try await storage.getIfPresent(.accessToken)  // nil if nothing is stored
    try await database.write { db in
        try db.execute(sql: "UPDATE recipe SET isSeen = 1")
        try storage.set("dark", for: .themeMode, in: db)  // commits or rolls back with the row
    }
    for try await mode in storage.values(of: .themeMode) { apply(mode) }  // the current value first
    // end
    _ = (mode, token)
}

private func run(_ storage: StorageRouter) async throws {
    // snippet
    try await storage.start()  // from now on, changes of other processes arrive
    for try await mode in storage.values(of: .themeMode) { apply(mode) }
    // end
}

private func stop(_ storage: StorageRouter) async throws {
    // snippet
    try await storage.stop()  // ends all observations; reading and writing still work
    // end
}

private func reset(_ lfs: LFSManager, storage: StorageRouter) async throws {
    // snippet
    try await lfs.reset(.everythingIsUploaded) { db in try storage.removeAll(in: db) }
    // end
}

private func migrations() {
    // snippet
    let wifi = StorageKey<Bool>(
        "backup.requiresWiFi", default: true,
        migrations: [
            .ifPreviousApp(
                .below("2.0"),
                migration: .legacy(from: StorageKey("wifiOnly", domain: .userDefaults(suite: "com.example.app"))))
        ])
    let delay = StorageKey<Int>("backup.delaySeconds", default: 0)
    let catalog = StorageCatalog(
        "backup", version: 2,
        steps: [
            .from(1) { batch in
                // Version 1 stored minutes.
                if let minutes = try batch.legacy(StorageKey<Int>("backup.delay")) {
                    try batch.set(minutes * 60, for: delay)
                    try batch.removeLegacy(StorageKey<Int>("backup.delay"))
                }
            }
        ]
    ) {
        wifi
        delay
    }
    // end
    _ = catalog
}

private func askForIt() async throws -> Passphrase { Passphrase("") }

private func passphrase() {
    // snippet
    let options = StorageOptions(rootKey: .passphrase { try await askForIt() })
    // end
    _ = options
}

// snippet
func openServiceSettings(_ database: DatabasePool) async throws -> StorageRouter {
    let options = StorageOptions(
        rootKey: .credential("app-root"),
        keychain: .sealedFile(at: "/var/lib/app/secrets", key: .credential("app-secrets")))
    let catalog = StorageCatalog("account") {
        StorageKey<String>.accessToken
        StorageKey<String>.serverNote
    }
    return try await StorageRouter.open(database, catalogs: [catalog], options: options)
}
// end

#if os(Linux)
private func keyring() {
    // snippet
    let options = StorageOptions(rootKey: .keychain, keychain: .secretService())
    // end
    // snippet
    let token = StorageKey<String>(
        "account.token", domain: .keychain(),
        migrations: [
            .transform(
                from: StorageKey<Data>(
                    "former.token", domain: .secretServiceItem(["service": "example"]), serializer: .data)
            ) { String(decoding: $0, as: UTF8.self) }
        ])
    // end
    _ = (options, token)
}
#endif

// snippet
extension StorageKey<String> {
    static var theme: Self { .init("view.theme", default: "system", sync: .automatic(maxByteCount: 100)) }
}

/// Runs on each device, with its own database and the folder that all devices share.
func openSynced(_ database: DatabasePool, shared: URL) async throws -> StorageRouter {
    let transport = try RemoteStorageTransport(try DirectoryStorage(at: shared), prefix: "settings")
    let storage = try await StorageRouter.open(
        database, catalogs: [StorageCatalog("recipes") { StorageKey<String>.theme }],
        options: StorageOptions(companions: CompanionOptions([transport])))
    try await storage.start()  // from now on, values are published and received
    return storage
}
// end

#if canImport(WatchConnectivity)
// snippet
func openWithWatch(_ database: DatabasePool) async throws -> StorageRouter {
    let transports = WCSession.isSupported() ? [WatchTransport()] : []
    let storage = try await StorageRouter.open(
        database, catalogs: [StorageCatalog("recipes") { StorageKey<String>.theme }],
        options: StorageOptions(companions: CompanionOptions(transports)))
    try await storage.start()  // from now on, values are published and received
    return storage
}
// end
#endif

// snippet
/// Connects the devices of one user. Only they know the id `family`.
func ownServer(_ url: URL, family: String, token: @escaping @Sendable () async throws -> String) throws
    -> RemoteStorageTransport
{
    let server = try SignedURLStorage(server: url, authorization: .bearer { _ in try await token() })
    return try RemoteStorageTransport(server, prefix: "\(family)/settings")
}
// end

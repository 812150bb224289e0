import Crypto
import Foundation
import GRDB
import LFSSettings
import Synchronization
import TestSupport
import Testing

@Suite("Key migrations during sets and removals", .serialized, .timeLimit(.minutes(10)))
struct MigrationRaceTests {
    private static let stores: [Store] = [.database, .file, .keychain]
    private let secret = StorageKey<String>("legacy", security: .encrypted)

    private func key(_ store: Store, migrations: [KeyMigration<String>] = []) -> StorageKey<String> {
        StorageKey("migrated", domain: store.domain, migrations: migrations)
    }

    private func options(_ place: Place, load: @escaping @Sendable () async throws -> Void) -> StorageOptions {
        var options = place.options
        options.rootKey = .custom {
            try await load()
            return SymmetricKey(data: Data(repeating: 3, count: 32))
        }
        return options
    }

    @Test("A migration does not overwrite a value that is set while it reads its sources", arguments: stores)
    func meanwhile(store: Store) async throws {
        try await withPlace { place in
            try await place.open(options(place) {}) { secret }.set("old", for: secret)
            let plain = key(store)
            let other = try await place.open { plain }
            let storage = try await place.open(
                options(place) { try await other.set("set meanwhile", for: plain) }
            ) { key(store, migrations: [.legacy(from: secret)]) }
            #expect(try await storage.get(key(store, migrations: [.legacy(from: secret)])) == "set meanwhile")
            // The source stays, as it does next to any existing value.
            #expect(try await place.bytes(of: "legacy") != nil)
        }
    }

    private enum Removal: CaseIterable {
        case remove, inTransaction, batch, removeAll, removeAllInTransaction
    }

    @Test("A removed key does not return from a source that was locked at the time", arguments: stores)
    private func removed(store: Store) async throws {
        for removal in Removal.allCases where store == .database || ![.inTransaction, .batch].contains(removal) {
            try await withPlace { place in
                let isOpen = Mutex(true)
                let options = options(place) {
                    guard isOpen.withLock({ $0 }) else {
                        throw SettingsError(.locked, message: "The device is locked.")
                    }
                }
                try await place.open(options) { secret }.set("old", for: secret)
                let key = key(store, migrations: [.legacy(from: secret)])
                isOpen.withLock { $0 = false }
                let storage = try await place.open(options) { key }
                await expectFailure(.migrationPending) { _ = try await storage.getIfPresent(key) }
                await #expect(throws: CancellationError.self) {
                    try await place.database.write { db in
                        try storage.removeAll(in: db)
                        throw CancellationError()
                    } as Void
                }
                await expectFailure(.migrationPending) { _ = try await storage.getIfPresent(key) }
                switch removal {
                case .remove: try await storage.remove(key)
                case .inTransaction: try await place.database.write { db in try storage.remove(key, in: db) }
                case .batch: try await storage.write { batch in try batch.remove(key) }
                case .removeAll: try await storage.removeAll()
                case .removeAllInTransaction:
                    try await place.database.write { db in try storage.removeAll(in: db) }
                }
                #expect(try await storage.getIfPresent(key) == nil, "\(removal)")
                isOpen.withLock { $0 = true }
                let again = try await place.open(options) { key }
                #expect(try await again.getIfPresent(key) == nil, "\(removal)")
                #expect(try await again.audit().orphans == [], "\(removal)")
            }
        }
    }

    private func options(_ place: Place, version: String) -> StorageOptions {
        var options = place.options
        options.appVersion = version
        return options
    }

    @Test("Opening another catalog does not change the app version recorded for a catalog")
    func versionOfCatalog() async throws {
        let legacy = StorageKey<String>("legacy")
        let key = StorageKey<String>(
            "key", default: "default", migrations: [.ifPreviousApp(.below("2.0"), migration: .legacy(from: legacy))])
        try await withPlace { place in
            let first = try await place.open(options(place, version: "1.9")) { legacy }
            try await first.set("old", for: legacy)
            let elsewhere = StorageCatalog("extension") { StorageKey<Int>("other", default: 0) }
            _ = try await StorageRouter.open(
                place.database, catalogs: [elsewhere], options: options(place, version: "2.0"))
            let storage = try await place.open(options(place, version: "2.0")) { key }
            #expect(try await storage.get(key) == "old")
        }
    }
}

import Foundation
import GRDB
import LFSSettings
import Synchronization
import TestSupport
import Testing

@Suite("Resets with other routers", .timeLimit(.minutes(10)))
struct ResetTests {
    private let token: StorageKey<String> = Store.keychain.key("account.token")
    private let filed: StorageKey<String> = Store.file.key("filed")
    private let held: StorageKey<String> = Store.memory.key("held")
    private let plain = StorageKey<Int>("plain", default: 0)

    private func open(_ place: Place) async throws -> StorageRouter {
        try await place.open {
            token
            filed
            held
        }
    }

    private func fill(_ storage: StorageRouter) async throws {
        for key in [token, filed, held] { try await storage.set("secret", for: key) }
    }

    /// Opens another router of the same database with its own catalog and no key chain.
    private func openOther(_ place: Place, database: any DatabaseWriter) async throws -> StorageRouter {
        let other: StorageKey<String> = Store.file.key("other")
        return try await StorageRouter.open(
            database,
            catalogs: [
                StorageCatalog("other") {
                    plain
                    other
                }
            ])
    }

    @Test("A reset by a router without a key chain removes secrets and values in memory too")
    func withoutKeychain() async throws {
        try await withPlace { place in
            let storage = try await open(place)
            try await fill(storage)
            let database = try place.otherDatabase()
            // The reset uses another connection, so that the first router gets no notification.
            let other = try await openOther(place, database: database)
            try await database.write { db in try other.removeAll(in: db) }
            let again = try await openOther(place, database: database)
            #expect(try await again.getIfPresent(Store.file.key("other") as StorageKey<String>) == nil)
            for key in [token, filed, held] { #expect(try await storage.getIfPresent(key) == nil, "\(key.name)") }
            try await fill(storage)
            for key in [token, filed, held] { #expect(try await storage.get(key) == "secret", "\(key.name)") }
            try database.close()
        }
    }

    @Test("A committed reset applies to a stopped router and to one that never ran")
    func committed() async throws {
        for isStopped in [true, false] {
            try await withPlace { place in
                let storage = try await open(place)
                try await fill(storage)
                if isStopped {
                    try await storage.stop()
                    try await place.database.write { db in try storage.removeAll(in: db) }
                } else {
                    let database = try place.otherDatabase()
                    let other = try await openOther(place, database: database)
                    try await database.write { db in try other.removeAll(in: db) }
                    try database.close()
                }
                for key in [token, filed, held] {
                    #expect(try await storage.getIfPresent(key) == nil, "\(key.name), stopped: \(isStopped)")
                }
            }
        }
    }

    @Test("A value set after a reset stays while another router completes the reset")
    func beside() async throws {
        try await withPlace { place in
            let storage = try await open(place)
            let database = try place.otherDatabase()
            let other = try await StorageRouter.open(
                database,
                catalogs: [
                    StorageCatalog("app") {
                        token
                        filed
                        held
                    }
                ], options: place.options)
            for round in 1...40 {
                for key in [token, filed] {
                    try await storage.set("old", for: key)
                    try await place.database.write { db in try storage.removeAll(in: db) }
                    async let reading = other.getIfPresent(key)
                    try await storage.set("new \(round)", for: key)
                    _ = try await reading
                    #expect(try await storage.getIfPresent(key) == "new \(round)", "\(key.name)")
                }
            }
            try database.close()
        }
    }

    @Test("Setting an encrypted file and a concurrent reset do not deadlock")
    func keysBeside() async throws {
        try await withPlace { place in
            let key: StorageKey<String> = Store.encryptedFile.key("encrypted")
            let database = try place.otherDatabase()
            let catalog = StorageCatalog("app") { key }
            let storage = try await place.open { key }
            let other = try await StorageRouter.open(database, catalogs: [catalog], options: place.options)
            for round in 1...60 {
                async let setting: Void = other.set("\(round)", for: key)
                try await storage.removeAll()
                try await setting
            }
            try await other.set("last", for: key)
            #expect(try await storage.get(key) == "last")
            try database.close()
        }
    }

    @Test(
        "Repeated resets right after new data keys do not report a lost root key",
        arguments: [Store.encryptedFile, .encrypted])
    func oftenBeside(store: Store) async throws {
        try await withPlace { place in
            let key: StorageKey<String> = store.key("encrypted")
            let storage = try await place.open { key }
            try await storage.removeAll()
            // The trigger simulates a removal right after each of the next five keys.
            try await place.database.write { db in
                try db.execute(
                    sql: """
                        CREATE TABLE removals(left INTEGER NOT NULL);
                        INSERT INTO removals VALUES (5);
                        CREATE TRIGGER removal AFTER INSERT ON lfs_setting_key WHEN (SELECT left FROM removals) > 0
                        BEGIN
                            UPDATE removals SET left = left - 1;
                            DELETE FROM lfs_setting_key;
                        END
                        """)
            }
            try await storage.set("last", for: key)
            let left = try await place.database.read { db in try Int.fetchOne(db, sql: "SELECT left FROM removals") }
            #expect(left == 0)
            #expect(try await storage.get(key) == "last")
        }
    }

    @Test("Observers of files, secrets and memory receive a reset", arguments: [true, false])
    func observers(here: Bool) async throws {
        try await withPlace { place in
            let clock = ManualClock()
            var options = place.options
            options.clock = clock
            let storage = try await place.open(options) {
                token
                filed
                held
            }
            try await fill(storage)
            try await storage.start()
            await clock.waitForSleepers()
            var observers = [token, filed, held].map { storage.valuesIfPresent(of: $0).makeAsyncIterator() }
            for index in observers.indices { #expect(try await observers[index].next() == "secret") }
            if here {
                try await place.database.write { db in try storage.removeAll(in: db) }
            } else {
                let database = try place.otherDatabase()
                let other = try await openOther(place, database: database)
                try await database.write { db in try other.removeAll(in: db) }
                try database.close()
                clock.advance(by: .seconds(1))
            }
            for index in observers.indices { #expect(try await observers[index].next() == .some(nil)) }
            try await storage.stop()
        }
    }
}

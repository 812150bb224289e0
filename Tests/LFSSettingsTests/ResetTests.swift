import Foundation
import GRDB
import LFSSettings
import Synchronization
import TestSupport
import Testing

@Suite("Removing everything beside other routers", .timeLimit(.minutes(10)))
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

    /// Another router of the same database, with a catalog of its own and no key chain.
    private func openOther(_ place: Place, _ database: any DatabaseWriter) async throws -> StorageRouter {
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

    @Test(
        "A router without a key chain ends its part of a removal, and the secrets and what is in memory go all the same"
    )
    func withoutKeychain() async throws {
        try await withPlace { place in
            let storage = try await open(place)
            try await fill(storage)
            let database = try place.otherDatabase()
            // Not by this router's connection, so that it hears nothing.
            let other = try await openOther(place, database)
            try await database.write { db in try other.removeAll(in: db) }
            let again = try await openOther(place, database)
            #expect(try await again.getIfPresent(Store.file.key("other") as StorageKey<String>) == nil)
            for key in [token, filed, held] { #expect(try await storage.getIfPresent(key) == nil, "\(key.name)") }
            try await fill(storage)
            for key in [token, filed, held] { #expect(try await storage.get(key) == "secret", "\(key.name)") }
            try database.close()
        }
    }

    @Test("A committed removal counts for a router that is stopped, and for one that never ran")
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
                    let other = try await openOther(place, database)
                    try await database.write { db in try other.removeAll(in: db) }
                    try database.close()
                }
                for key in [token, filed, held] {
                    #expect(try await storage.getIfPresent(key) == nil, "\(key.name), stopped: \(isStopped)")
                }
            }
        }
    }

    @Test("What is set after a removal stays, whoever ends the removal beside it")
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

    @Test("Who sets an encrypted file, for which a key is made, and who ends a removal do not wait for each other")
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
        "However many removals come between the making of a data key and its use, no root key is said to be lost",
        arguments: [Store.encryptedFile, .encrypted])
    func oftenBeside(store: Store) async throws {
        try await withPlace { place in
            let key: StorageKey<String> = store.key("encrypted")
            let storage = try await place.open { key }
            try await storage.removeAll()
            // As a removal in the moment after each of the next five keys.
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

    @Test("Observers of files, secrets and memory hear of a removal", arguments: [true, false])
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
                let other = try await openOther(place, database)
                try await database.write { db in try other.removeAll(in: db) }
                try database.close()
                clock.advance(by: .seconds(1))
            }
            for index in observers.indices { #expect(try await observers[index].next() == .some(nil)) }
            try await storage.stop()
        }
    }
}

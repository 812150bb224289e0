import Crypto
import Foundation
import GRDB
import LFSSettings
import Synchronization
import TestSupport
import Testing

@Suite("Settings in the app's transactions", .timeLimit(.minutes(10)))
struct TransactionTests {
    private static let stores: [Store] = [.database, .durable, .encrypted]

    private func withRows(_ store: Store, _ body: (Place, StorageRouter, StorageKey<Int>) async throws -> Void)
        async throws
    {
        try await withPlace { place in
            try await place.execute("CREATE TABLE recipe (title TEXT UNIQUE)")
            let key: StorageKey<Int> = store.key("count", default: 0)
            try await body(place, try await place.open { key }, key)
        }
    }

    private func titles(_ place: Place) async throws -> [String] {
        try await place.database.read { db in try String.fetchAll(db, sql: "SELECT title FROM recipe ORDER BY title") }
    }

    @Test("A setting commits with the row of the same transaction", arguments: stores)
    func commit(store: Store) async throws {
        try await withRows(store) { place, storage, key in
            try await place.database.write { db in
                try db.execute(sql: "INSERT INTO recipe VALUES ('toast')")
                try storage.set(1, for: key, in: db)
                #expect(try storage.get(key, in: db) == 1)
            }
            #expect(try await titles(place) == ["toast"])
            #expect(try await storage.get(key) == 1)
        }
    }

    @Test("A setting rolls back with the row of the same transaction", arguments: stores)
    func rollback(store: Store) async throws {
        try await withRows(store) { place, storage, key in
            try await storage.set(1, for: key)
            await #expect(throws: DatabaseError.self) {
                try await place.database.write { db in
                    try storage.set(2, for: key, in: db)
                    try db.execute(sql: "INSERT INTO recipe VALUES ('toast')")
                    try db.execute(sql: "INSERT INTO recipe VALUES ('toast')")
                }
            }
            #expect(try await titles(place) == [])
            #expect(try await storage.get(key) == 1)
            try await place.database.write { db in
                try db.execute(sql: "INSERT INTO recipe VALUES ('kept')")
                try db.inSavepoint {
                    try storage.remove(key, in: db)
                    try db.execute(sql: "INSERT INTO recipe VALUES ('gone')")
                    return .rollback
                }
            }
            #expect(try await titles(place) == ["kept"])
            #expect(try await storage.get(key) == 1)
        }
    }

    @Test("A failed commit stores neither the setting nor the row", arguments: stores)
    func failingCommit(store: Store) async throws {
        try await withRows(store) { place, storage, key in
            try await place.execute(
                "CREATE TABLE photo (recipe TEXT REFERENCES recipe(title) DEFERRABLE INITIALLY DEFERRED)")
            await #expect(throws: DatabaseError.self) {
                try await place.database.write { db in
                    try storage.set(9, for: key, in: db)
                    try db.execute(sql: "INSERT INTO photo VALUES ('nowhere')")
                }
            }
            #expect(try await storage.getIfPresent(key) == nil)
        }
    }

    @Test("A batch is one transaction, and an error rolls all of it back", arguments: stores)
    func batch(store: Store) async throws {
        try await withPlace { place in
            let (one, two): (StorageKey<Int>, StorageKey<Int>) = (store.key("one", default: 1), store.key("two"))
            let storage = try await place.open {
                one
                two
            }
            let sum = try await storage.write { batch in
                try batch.update(one) { $0 += 1 }
                try batch.set(40, for: two)
                return try batch.get(one) + batch.get(two)
            }
            #expect(sum == 42)
            await #expect(throws: CancellationError.self) {
                try await storage.write { batch in
                    try batch.remove(one)
                    try batch.set(0, for: two)
                    throw CancellationError()
                } as Void
            }
            #expect(try await storage.get(one) == 2)
            #expect(try await storage.get(two) == 40)
        }
    }

    @Test("Transactions refuse keys of other domains", arguments: [Store.file, .encryptedFile, .keychain, .memory])
    func others(store: Store) async throws {
        try await withPlace { place in
            let key: StorageKey<Int> = store.key("key")
            let storage = try await place.open { key }
            await expectFailure(.notTransactional) { try await storage.write { try $0.set(1, for: key) } }
            await expectFailure(.notTransactional) {
                try await place.database.write { db in try storage.set(1, for: key, in: db) }
            }
            #expect(try await !storage.exists(key))
        }
    }

    @Test("An invalid row is an error of its key alone until the key is set")
    func oddRows() async throws {
        try await withPlace { place in
            let (odd, good) = (StorageKey<Int>("odd", default: 1), StorageKey<Int>("good", default: 2))
            let storage = try await place.open {
                odd
                good
            }
            try await storage.set(5, for: odd)
            try await storage.set(6, for: good)
            try await place.execute("PRAGMA ignore_check_constraints = 1")
            for value in ["'text'", "17", "2.5"] {
                try await place.execute(
                    "PRAGMA ignore_check_constraints = 1; UPDATE lfs_setting SET value = \(value) WHERE name = 'odd'")
                await expectFailure(.corrupted) { _ = try await storage.get(odd) }
                #expect(try await storage.get(good) == 6)
            }
            for column in ["serializer = x'FF'", "version = 'x'", "version = 1e300", "updatedAt = 'then'"] {
                try await storage.set(5, for: odd)
                try await place.execute(
                    "PRAGMA ignore_check_constraints = 1; UPDATE lfs_setting SET \(column) WHERE name = 'odd'")
                await expectFailure(.corrupted, comment: "\(column)") { _ = try await storage.get(odd) }
                #expect(try await storage.snapshot().get(good) == 6)
                _ = try await storage.audit()
            }
            try await storage.set(7, for: odd)
            #expect(try await storage.get(odd) == 7)
        }
    }

    @Test("A batch with a durable key is synced to disk when it returns")
    func durableBatch() async throws {
        try await withPlace { place in
            let (durable, plain): (StorageKey<Int>, StorageKey<Int>) = (
                Store.durable.key("durable"), Store.database.key("plain")
            )
            let storage = try await place.open {
                durable
                plain
            }
            func syncs() async throws -> Int {
                try await place.database.read {
                    try Int.fetchOne($0, sql: "SELECT barrier FROM lfs_setting_state") ?? -1
                }
            }
            let before = try await syncs()
            try await storage.write { batch in try batch.set(1, for: plain) }
            #expect(try await syncs() == before)
            try await storage.write { batch in try batch.set(1, for: durable) }
            let after = try await syncs()
            #expect(after > before)
            try await storage.write { batch in try batch.remove(durable) }
            #expect(try await syncs() > after)
        }
    }

    @Test("A batch requests the root key only if one of its keys is encrypted")
    func keyOfBatch() async throws {
        try await withPlace { place in
            let asked = Mutex(0)
            let isOpen = Mutex(false)
            let options = StorageOptions(
                rootKey: .custom {
                    asked.withLock { $0 += 1 }
                    guard isOpen.withLock({ $0 }) else {
                        throw SettingsError(.locked, message: "The device is locked.")
                    }
                    return SymmetricKey(data: Data(repeating: 5, count: 32))
                })
            let (plain, secret): (StorageKey<Int>, StorageKey<Int>) = (
                Store.database.key("plain"), Store.encrypted.key("secret")
            )
            let storage = try await place.open(options) {
                plain
                secret
            }
            let atOpen = asked.withLock { $0 }
            for number in 0..<3 { try await storage.write { batch in try batch.set(number, for: plain) } }
            #expect(asked.withLock { $0 } == atOpen)
            await expectFailure(.locked) { try await storage.write { batch in try batch.set(1, for: secret) } }
            isOpen.withLock { $0 = true }
            let sum = try await storage.write { batch in
                try batch.set(2, for: secret)
                return try batch.get(secret) + batch.get(plain)
            }
            #expect(sum == 4)
        }
    }
}

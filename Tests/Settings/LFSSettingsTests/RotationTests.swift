import Foundation
import GRDB
import LFSSettings
import TestSupport
import Testing

@Suite("Rotation of the data key", .serialized, .timeLimit(.minutes(10)))
struct RotationTests {
    private static let stores: [Store] = [.encrypted, .chaCha, .encryptedFile]

    private func keyIDs(_ place: Place) async throws -> [String] {
        try await place.database.read {
            try String.fetchAll($0, sql: "SELECT id FROM lfs_setting_key ORDER BY createdAt")
        }
    }

    @Test("Every value opens after a rotation, and the former key can be forgotten")
    func rotation() async throws {
        try await withPlace { place in
            let keys: [StorageKey<String>] = Self.stores.map { $0.key("key.\($0.rawValue)") }
            let many = (0..<250).map { StorageKey<Int>("many.\($0)", security: .encrypted) }
            let storage = try await place.open {
                keys
                many
                StorageKey<String>("plain")
            }
            for key in keys { try await storage.set("value", for: key) }
            try await storage.set("plain", for: StorageKey<String>("plain"))
            try await storage.write { batch in for key in many { try batch.set(1, for: key) } }
            try await storage.rotateKeys()
            #expect(try await keyIDs(place).count == 2)
            for key in keys { #expect(try await storage.get(key) == "value") }
            #expect(try await storage.forgetRetiredKeys() == 1)
            #expect(try await storage.forgetRetiredKeys() == 0)
            let again = try await place.open {
                keys
                many
            }
            for key in keys { #expect(try await again.get(key) == "value") }
            for key in many { #expect(try await again.get(key) == 1) }
        }
    }

    @Test("A retired key stays while a value needs it", arguments: stores)
    func inUse(store: Store) async throws {
        try await withPlace { place in
            let key: StorageKey<String> = store.key("key")
            let storage = try await place.open { key }
            try await storage.set("value", for: key)
            let file = store == .encryptedFile ? try place.filesFolder().child("key.setting") : nil
            let before = try file.map { try Data(contentsOf: $0) }
            let row = try await place.bytes(of: "key")
            try await storage.rotateKeys()
            // An earlier value returns, as if from a backup.
            if let file {
                try #require(before).write(to: file)
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
            } else {
                try await place.execute("UPDATE lfs_setting SET value = ? WHERE name = 'key'", arguments: [row])
            }
            #expect(try await storage.get(key) == "value")
            await expectFailure(.keyInUse) { try await storage.forgetRetiredKeys() }
            #expect(try await keyIDs(place).count == 2)
            #expect(try await storage.get(key) == "value")
            try await storage.rotateKeys()
            #expect(try await storage.forgetRetiredKeys() == 2)
            #expect(try await storage.get(key) == "value")
        }
    }

    @Test("A backup from before a rotation opens, and its values open in the current one")
    func backup() async throws {
        try await withPlace { place in
            let key: StorageKey<String> = Store.encrypted.key("key")
            let storage = try await place.open { key }
            try await storage.set("before", for: key)
            let copy = try DatabaseQueue(path: place.folder.child("copy.sqlite").path)
            try place.database.backup(to: copy)
            try await storage.rotateKeys()
            try await storage.set("after", for: key)
            let old = try await StorageRouter.open(
                copy, catalogs: [StorageCatalog("app") { key }], options: place.options)
            #expect(try await old.get(key) == "before")
            // A value of the copy is put into the current database. The retired key opens it.
            let row = try await copy.read { try Data.fetchOne($0, sql: "SELECT value FROM lfs_setting") }
            try await place.execute("UPDATE lfs_setting SET value = ?", arguments: [row])
            // This router has no key in memory yet.
            let fresh = try await place.open { key }
            #expect(try await fresh.get(key) == "before")
            try copy.close()
        }
    }

    @Test("A router writes with the current key after another process has rotated it")
    func overtaken() async throws {
        try await withPlace { place in
            let (one, two): (StorageKey<String>, StorageKey<String>) = (
                Store.encrypted.key("one"), Store.encryptedFile.key("two")
            )
            let storage = try await place.open {
                one
                two
            }
            try await storage.set("first", for: one)
            try await storage.set("first", for: two)
            #expect(
                try await HelperRun("flow", in: place.folder, arguments: "encrypted", "rotate").finish().word
                    == "ok")
            let other = try await place.open {
                one
                two
            }
            try await other.rotateKeys()
            try await storage.set("second", for: one)
            try await storage.set("second", for: two)
            #expect(try await other.forgetRetiredKeys() == 2)
            #expect(try await other.get(one) == "second")
            #expect(try await storage.get(two) == "second")
        }
    }

    @Test("A rotation while another process forgets retired keys keeps the key of the files")
    func concurrent() async throws {
        try await withPlace { place in
            let key: StorageKey<String> = Store.encryptedFile.key("key")
            let storage = try await place.open { key }
            try await storage.set("value", for: key)
            // The other process has checked the files, and waits for the lock of the database.
            let (waits, isWaiting) = AsyncStream.makeStream(of: Void.self)
            let (release, isRotated) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let other = try place.otherDatabase(
                busyMode: .callback { _ in
                    isWaiting.yield()
                    isRotated.wait()
                    isRotated.signal()
                    return true
                })
            let router = try await StorageRouter.open(
                other, catalogs: [StorageCatalog("app") { key }], options: place.options)
            let (locks, isLocked) = AsyncStream.makeStream(of: Void.self)
            place.database.asyncWriteWithoutTransaction { db in
                try? db.inTransaction(.immediate) {
                    isLocked.yield()
                    release.wait()
                    return .rollback
                }
            }
            _ = await locks.first { _ in true }
            let removal = Task { try await router.forgetRetiredKeys() }
            _ = await waits.first { _ in true }
            let rotation = Task { try await storage.rotateKeys() }
            release.signal()
            let count = ValueObservation.tracking { db in
                try Int.fetchOne(db, sql: "SELECT count(*) FROM lfs_setting_key")
            }
            for try await number in count.values(in: place.database) where number == 2 { break }
            isRotated.signal()
            // It looks again. The rotation may have encrypted the file again by then.
            do { _ = try await removal.value } catch let error as SettingsError { #expect(error.code == .keyInUse) }
            try await rotation.value
            // The first router still has the key in memory.
            #expect(try await place.open { key }.get(key) == "value")
            try other.close()
        }
    }

    @Test(
        "After a kill at any step of a rotation every value opens",
        arguments: ["encrypted", "encryptedFile"])
    func kill(domain: String) async throws {
        let store = try #require(Store(rawValue: domain))
        let (first, second): (StorageKey<String>, StorageKey<String>) = (store.key("first"), store.key("second"))
        var count = 0
        for number in 1...400 {
            var hasFired = false
            try await withPlace { place in
                let storage = try await place.open {
                    first
                    second
                }
                try await storage.set("one", for: first)
                try await storage.set("two", for: second)
                hasFired = try await HelperRun("flow", in: place.folder, arguments: domain, "rotate").finish(
                    failing: number, .kill
                )
                .hasFired
                let again = try await place.open {
                    first
                    second
                }
                #expect(try await again.get(first) == "one", "operation \(number)")
                #expect(try await again.get(second) == "two", "operation \(number)")
                try await again.rotateKeys()
                _ = try await again.forgetRetiredKeys()
                #expect(try await again.get(first) == "one", "operation \(number)")
                #expect(try await again.get(second) == "two", "operation \(number)")
            }
            if !hasFired { break }
            count = number
        }
        #expect(count >= 4, "Only \(count) operations were killed.")
    }
}

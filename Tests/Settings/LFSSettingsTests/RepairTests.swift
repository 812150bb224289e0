import Crypto
import Foundation
import GRDB
import LFSSettings
import Synchronization
import TestSupport
import Testing

@Suite("Repair of partly unusable settings", .serialized, .timeLimit(.minutes(10)))
struct RepairTests {
    private let plain = StorageKey<Int>("plain", default: 0)

    private func filed(_ place: Place) -> StorageKey<String> {
        StorageKey("filed", domain: .file(in: .folder(place.folder.child("old").path)))
    }

    @Test("A reset blocked by a missing folder completes once the folder is adopted")
    func resetWithoutFolder() async throws {
        try await withPlace { place in
            let filed = filed(place)
            func open() async throws -> StorageRouter {
                try await place.open {
                    filed
                    plain
                }
            }
            let storage = try await open()
            try await storage.set("secret", for: filed)
            try await place.database.write { db in try storage.removeAll(in: db) }
            try FileManager.default.removeItem(at: place.folder.child("old"))
            let again = try await open()
            try await again.set(1, for: plain)
            #expect(try await again.get(plain) == 1)
            await expectFailure(.folderAbsent) { _ = try await again.getIfPresent(filed) }
            #expect(try await again.audit().unreadablePlaces.values.contains("folderAbsent"))
            try await again.adoptFolders()
            #expect(try await again.getIfPresent(filed) == nil)
            try await again.set("new", for: filed)
            #expect(try await open().get(filed) == "new")
        }
    }

    @Test("A reset blocked by a replaced key chain completes once the chain is adopted")
    func resetWithoutKeychain() async throws {
        try await withPlace { place in
            let token: StorageKey<String> = Store.keychain.key("token")
            let encrypted: StorageKey<String> = Store.encryptedFile.key("encrypted")
            func open() async throws -> StorageRouter {
                try await place.open {
                    token
                    encrypted
                }
            }
            let storage = try await open()
            try await storage.set("secret", for: token)
            try await storage.set("secret", for: encrypted)
            try await place.database.write { db in try storage.removeAll(in: db) }
            // A new machine has another key chain.
            var options = place.options
            options.keychain = .sealedFile(
                at: place.folder.child("other").path, key: .keyFile(place.folder.child("keys").child("other").path))
            let again = try await place.open(options) {
                token
                encrypted
            }
            await expectFailure(.keychainReplaced) { _ = try await again.getIfPresent(token) }
            // Files do not depend on the key chain.
            #expect(try await again.getIfPresent(encrypted) == nil)
            try await again.adoptKeychain()
            #expect(try await again.getIfPresent(token) == nil)
            try await again.set("new", for: token)
            #expect(try await again.get(token) == "new")
        }
    }

    @Test("A reset removes a file whose folder could not be recorded during the opening", arguments: [false, true])
    func unrecordedFolder(isRotated: Bool) async throws {
        try await withPlace { place in
            let key: StorageKey<String> = Store.encryptedFile.key("key")
            try await place.execute(
                """
                CREATE TRIGGER refuse BEFORE INSERT ON lfs_setting_folder
                BEGIN SELECT RAISE(ABORT, 'no folder can be recorded'); END
                """)
            let storage = try await place.open { key }
            await expectFailure(.database) { try await storage.set("early", for: key) }
            try await place.execute("DROP TRIGGER refuse")
            try await storage.set("value", for: key)
            if isRotated {
                try await storage.rotateKeys()
                #expect(try await storage.forgetRetiredKeys() == 1)
                #expect(try await place.open { key }.get(key) == "value")
            } else {
                try await storage.removeAll()
                #expect(try await place.open { key }.getIfPresent(key) == nil)
            }
        }
    }

    @Test("A reset completes once the missing folder of an undeclared key is adopted")
    func unregisteredFolder() async throws {
        try await withPlace { place in
            let filed = filed(place)
            try await place.open { filed }.set("secret", for: filed)
            try FileManager.default.removeItem(at: place.folder.child("old"))
            let storage = try await place.open { plain }
            await expectFailure(.folderAbsent) { try await storage.removeAll() }
            try await storage.adoptFolders()
            try await storage.removeAll()
            #expect(!FileManager.default.fileExists(atPath: place.folder.child("old").path))
        }
    }

    private enum Ruin: CaseIterable {
        case rootKey, folder, value
    }

    @Test(
        "A catalog that cannot be upgraded stays pending, and other catalogs work",
        arguments: Ruin.allCases)
    private func version(ruin: Ruin) async throws {
        try await withPlace { place in
            let key: StorageKey<String> =
                switch ruin {
                case .rootKey: Store.encrypted.key("key")
                case .folder: filed(place)
                case .value: Store.database.key("key")
                }
            func open(version: Int) async throws -> StorageRouter {
                try await StorageRouter.open(
                    place.database,
                    catalogs: [
                        StorageCatalog("app", version: version) { key }, StorageCatalog("other") { plain },
                    ], options: place.options)
            }
            try await open(version: 1).set("value", for: key)
            switch ruin {
            case .rootKey: try FileManager.default.removeItem(at: place.folder.child("keys").child("root"))
            case .folder: try FileManager.default.removeItem(at: place.folder.child("old"))
            case .value: try await place.execute("UPDATE lfs_setting SET value = x'00'")
            }
            let storage = try await open(version: 2)
            try await storage.set(3, for: plain)
            #expect(try await storage.get(plain) == 3)
            await expectFailure(.migrationFailed) { _ = try await storage.getIfPresent(key) }
            await expectFailure(.migrationFailed) { try await storage.set("new", for: key) }
            await expectFailure(.migrationFailed) { try await storage.write { try $0.set("new", for: key) } }
            await expectFailure(.migrationFailed) { for try await _ in storage.values(of: key) {} }
            switch ruin {
            case .rootKey: #expect(try await storage.giveUpRootKey() == ["key"])
            case .folder: try await storage.adoptFolders()
            case .value: try await storage.remove(key)
            }
            let mended = try await open(version: 2)
            #expect(try await mended.getIfPresent(key) == nil)
            try await mended.set("new", for: key)
            #expect(try await open(version: 2).get(key) == "new")
        }
    }

    // MARK: The root key

    @Test(
        "A wrong or absent root key discards nothing and can be corrected",
        arguments: [Store.encrypted, .encryptedFile])
    func otherRootKey(store: Store) async throws {
        try await withPlace { place in
            let key: StorageKey<String> = store.key("key")
            let root = Mutex<SymmetricKey?>(SymmetricKey(data: Data(repeating: 1, count: 32)))
            let options = StorageOptions(rootKey: .custom { root.withLock { $0 } })
            try await place.open(options) { key }.set("value", for: key)
            for (wrong, code) in [
                (SymmetricKey(data: Data(repeating: 2, count: 32)), SettingsError.Code.keyMismatch), (nil, .keyMissing),
            ] {
                root.withLock { $0 = wrong }
                let storage = try await place.open(options) { key }
                await expectFailure(code) { try await storage.discardUnreadable() }
                // A new root key cannot be made because the source cannot store one.
                if wrong == nil { await expectFailure(code) { try await storage.giveUpRootKey() } }
            }
            root.withLock { $0 = SymmetricKey(data: Data(repeating: 1, count: 32)) }
            #expect(try await place.open(options) { key }.get(key) == "value")
        }
    }

    @Test("Discarding keeps values that another router has set with a new root key", arguments: [false, true])
    func replacedRootKey(givesUp: Bool) async throws {
        try await withPlace { place in
            let keys: [StorageKey<String>] = [Store.encrypted.key("row"), Store.encryptedFile.key("file")]
            let storage = try await place.open { keys }
            for key in keys { try await storage.set("lost", for: key) }
            try FileManager.default.removeItem(at: place.folder.child("keys").child("root"))
            let database = try place.otherDatabase()
            let other = try await StorageRouter.open(
                database, catalogs: [StorageCatalog("app") { keys }], options: place.options)
            #expect(try await other.giveUpRootKey() == ["file", "row"])
            for key in keys { try await other.set("new", for: key) }
            // The first router still has the lost root key in memory.
            let discarded = givesUp ? try await storage.giveUpRootKey() : try await storage.discardUnreadable()
            #expect(discarded == [])
            for key in keys { #expect(try await storage.get(key) == "new", "\(key.name)") }
            try database.close()
        }
    }

    @Test("Discarding the values of a damaged data key keeps all other values")
    func damagedDataKey() async throws {
        try await withPlace { place in
            let (old, new): (StorageKey<String>, StorageKey<String>) = (
                Store.encrypted.key("old"), Store.encrypted.key("new")
            )
            func open() async throws -> StorageRouter {
                try await place.open {
                    old
                    new
                }
            }
            let storage = try await open()
            try await storage.set("value", for: old)
            let row = try await place.bytes(of: "old")
            try await storage.rotateKeys()
            try await storage.set("value", for: new)
            // The row is restored as if from a backup. The retired key encrypts it.
            try await place.execute("UPDATE lfs_setting SET value = ? WHERE name = 'old'", arguments: [row])
            try await place.execute(
                "UPDATE lfs_setting_key SET wrapped = CAST(wrapped || x'00' AS BLOB) WHERE state = 'current'")
            let again = try await open()
            #expect(try await again.get(old) == "value")
            await expectFailure(.keyMismatch) { _ = try await again.get(new) }
            await expectFailure(.keyMismatch) { try await again.set("x", for: new) }
            #expect(try await again.discardUnreadable() == ["new"])
            try await again.rotateKeys()
            try await again.set("again", for: new)
            let last = try await open()
            #expect(try await last.get(old) == "value")
            #expect(try await last.get(new) == "again")
        }
    }
}

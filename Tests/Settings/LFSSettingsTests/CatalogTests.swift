import Foundation
import GRDB
import LFSSettings
import TestSupport
import Testing

@Suite("Keys and catalogs", .timeLimit(.minutes(10)))
struct CatalogTests {
    private static let bad = [
        "", "../x", "a/b", "a\0b", "ä", "a b", "a_b", String(repeating: "n", count: 101), "x\n",
    ]

    @Test("Names with characters outside the allowed set are refused in every domain", arguments: bad)
    func badNames(name: String) async throws {
        try await withPlace { place in
            for store in Store.allCases {
                let key: StorageKey<Int> = store.key(name)
                await expectFailure(.invalidName) { _ = try await place.open { key } }
                // Without a catalog the key is refused too.
                let storage = try await place.open { store.key("other", default: 1) }
                await expectFailure(.unregistered) { try await storage.set(1, for: key) }
            }
        }
    }

    @Test("Names of 100 bytes and names of dots and dashes are accepted", arguments: Store.allCases)
    func goodNames(store: Store) async throws {
        try await withPlace { place in
            let names = [String(repeating: "N", count: 100), ".", "..", "-", "a.b-C.9"]
            let keys: [StorageKey<String>] = names.map { store.key($0) }
            let storage = try await place.open { keys }
            for key in keys { try await storage.set(key.name, for: key) }
            for key in keys { #expect(try await storage.get(key) == key.name) }
        }
    }

    @Test("Declaring one name twice, in one catalog or in two, is an error")
    func duplicates() async throws {
        try await withPlace { place in
            let key = StorageKey<Int>("twice")
            await expectFailure(.duplicate) {
                _ = try await place.open {
                    key
                    StorageKey<String>("twice", domain: .memory)
                }
            }
            await expectFailure(.duplicate) {
                _ = try await StorageRouter.open(
                    place.database, catalogs: [StorageCatalog("one") { key }, StorageCatalog("two") { key }])
            }
            await expectFailure(.duplicate) {
                _ = try await StorageRouter.open(
                    place.database,
                    catalogs: [StorageCatalog("one") { key }, StorageCatalog("one") { StorageKey<Int>("other") }])
            }
            await expectFailure(.duplicate) {
                _ = try await place.open {
                    StorageKey<Int>.Family(StorageKey("twice"))
                    StorageKey<Int>("twice.more")
                }
            }
        }
    }

    @Test("Using an undeclared or differently declared key is an error")
    func unregistered() async throws {
        try await withPlace { place in
            let key = StorageKey<Int>("key", default: 1)
            let storage = try await place.open { key }
            let others: [StorageKey<Int>] = [
                StorageKey("other", default: 1), StorageKey("key", default: 1, domain: .memory),
                StorageKey("key", default: 1, security: .encrypted),
                StorageKey("key", default: 1, serializer: .propertyList),
                StorageKey("key", default: 1, sync: .manual),
                StorageKey("key", default: 1, availability: [.linux, .macOS]),
            ]
            for other in others {
                await expectFailure(.unregistered) { _ = try await storage.get(other) }
                await expectFailure(.unregistered) { try await storage.set(2, for: other) }
            }
            await expectFailure(.unregistered) { _ = try await storage.get(StorageKey<String>("key")) }
            #expect(try await storage.get(key) == 1)
        }
    }

    @Test("A key for another platform is listed but cannot be used")
    func unavailable() async throws {
        try await withPlace { place in
            let elsewhere = SettingAvailability.everywhere.subtracting([.linux, .macOS])
            // Its domain may name a place that does not exist on this platform.
            let key = StorageKey<Int>(
                "key", default: 1, domain: .file(in: .appGroup("group.test")), availability: elsewhere)
            let storage = try await place.open { key }
            await expectFailure(.unavailable) { _ = try await storage.get(key) }
            await expectFailure(.unavailable) { try await storage.set(2, for: key) }
            let entry = try #require(try await storage.audit().entries.first)
            #expect(!entry.isAvailable)
        }
    }

    @Test("Each member of a family is a separate key, whatever its id contains", arguments: Store.allCases)
    func families(store: Store) async throws {
        try await withPlace { place in
            let family = StorageKey<Int>.Family(store.key("sync.mark", default: 0))
            let storage = try await place.open { family }
            let ids = [
                "7", "ann", "ann@example.com", "../x", "", "-", "a.b", String(repeating: "x", count: 300), "ANN",
            ]
            for (number, id) in ids.enumerated() { try await storage.set(number + 1, for: family[id]) }
            for (number, id) in ids.enumerated() { #expect(try await storage.get(family[id]) == number + 1) }
            #expect(try await storage.get(family["bob"]) == 0)
            await expectFailure(.unregistered) {
                _ = try await storage.get(StorageKey<Int>("sync.mark.ann", domain: store.domain))
            }
        }
    }

    @Test("Errors and descriptions never contain the id of a family's member")
    func familyNames() async throws {
        try await withPlace { place in
            let family = StorageKey<Int>.Family(StorageKey("sync.mark"))
            let storage = try await place.open { family }
            let member = family["canary-id"]
            do {
                _ = try await storage.get(member)
                Issue.record("No error was thrown.")
            } catch let error as SettingsError {
                #expect(error.key == "sync.mark")
                #expect(!"\(error) \(member)".contains("canary"))
            }
        }
    }

    @Test("Errors about a member's file never contain the member's id")
    func familyFiles() async throws {
        try await withPlace { place in
            let family = StorageKey<Int>.Family(Store.file.key("sync.mark"))
            let storage = try await place.open { family }
            let member = family["canary-id"]
            try await storage.set(1, for: member)
            let folder = try place.filesFolder()
            let file = folder.child(try #require(try names(in: folder).first { $0.contains("canary") }))
            try FileManager.default.removeItem(at: file)
            try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
            do {
                _ = try await storage.get(member)
                Issue.record("No error was thrown.")
            } catch let error as SettingsError {
                var text = "\(error)"
                dump(error, to: &text)
                #expect(!text.contains("canary"))
                #expect(error.code == .corrupted)
            }
        }
    }

    @Test("A stored value that no catalog declares is an orphan in every domain", arguments: Store.kept)
    func orphans(store: Store) async throws {
        try await withPlace { place in
            let (old, new): (StorageKey<Int>, StorageKey<Int>) = (store.key("old"), store.key("new"))
            try await place.open { old }.set(5, for: old)
            let audit = try await place.open { new }.audit()
            #expect(audit.orphans.map(\.name) == ["old"])
            #expect(audit.entries.map(\.key) == ["new"])
            #expect(try await place.open { old }.get(old) == 5)
        }
    }

    @Test("The audit describes each stored key without its value")
    func audit() async throws {
        try await withPlace { place in
            let plain = StorageKey<String>("plain", default: "x", onUndecodable: .useDefault)
            let secret = StorageKey<String>("secret", security: .encrypted)
            let family = StorageKey<String>.Family(StorageKey("family"))
            let storage = try await place.open {
                plain
                secret
                family
            }
            try await storage.set("canary-plain", for: plain)
            try await storage.set("canary-secret", for: secret)
            for id in ["a", "b"] { try await storage.set("canary-family", for: family[id]) }
            var audit = try await storage.audit()
            #expect(audit.entries.map(\.storedCount) == [2, 1, 1])
            #expect(audit.entries.map(\.security) == ["none", "none", "AES-256-GCM"])
            #expect(audit.entries.allSatisfy { $0.problem == nil && $0.updatedAt != nil })
            let text = String(decoding: try JSONEncoder().encode(audit), as: UTF8.self)
            #expect(!text.contains("canary"))
            try await place.execute("UPDATE lfs_setting SET value = x'00' WHERE name IN ('plain', 'secret')")
            audit = try await storage.audit()
            #expect(audit.entries.map(\.problem) == [nil, "undecodable", "corrupted"])
        }
    }
}

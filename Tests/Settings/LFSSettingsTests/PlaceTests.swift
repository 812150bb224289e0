import Crypto
import Foundation
import GRDB
import LFSSettings
import Synchronization
import TestSupport
import Testing

@Suite("Places with several names and routers", .serialized, .timeLimit(.minutes(10)))
struct PlaceTests {
    @Test("Several spellings of one folder's path count as one folder")
    func folderNames() async throws {
        try await withPlace { place in
            let folder = place.folder.child("values").path
            let beside = place.folder.child("app.sqlite.settings").path
            let keys = [folder, folder + "/", "/" + folder, folder + "/./"].enumerated().map { number, path in
                StorageKey<String>("key\(number)", domain: .file(in: .folder(path)), security: .encrypted)
            }
            let named = StorageKey<String>("named", domain: .file(in: .folder(beside)), security: .encrypted)
            let standard: StorageKey<String> = Store.encryptedFile.key("standard")
            let storage = try await place.open {
                keys
                named
                standard
            }
            for key in keys + [named, standard] { try await storage.set("value", for: key) }
            #expect(try await storage.audit().orphans == [])
            try await storage.rotateKeys()
            #expect(try await storage.forgetRetiredKeys() == 1)
            for key in keys + [named, standard] { #expect(try await storage.get(key) == "value") }
        }
    }

    @Test("A folder and a symbolic link to it share one lock")
    func link() async throws {
        try await withPlace { place in
            let (real, link) = (place.folder.child("real"), place.folder.child("link"))
            try FileManager.default.createDirectory(at: real, withIntermediateDirectories: false)
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: real)
            let keys = [real, link].enumerated().map { number, url in
                StorageKey<String>(
                    "key\(number)", domain: .file(in: .folder(url.child("values").path)), security: .encrypted)
            }
            let storage = try await place.open { keys }
            for key in keys { try await storage.set("value", for: key) }
            try await storage.rotateKeys()
            #expect(try await storage.forgetRetiredKeys() == 1)
            for key in keys { #expect(try await storage.get(key) == "value") }
        }
    }

    @Test("Opening a sealed file keeps unfinished files of a file with a longer name")
    func sweep() async throws {
        try await withPlace { place in
            let token: StorageKey<String> = Store.keychain.key("token")
            let other = place.folder.child(".sealed.other.\(UUID().uuidString.lowercased()).unfinished")
            let own = place.folder.child(".sealed.\(UUID().uuidString.lowercased()).unfinished")
            for file in [other, own] { try Data([1]).write(to: file) }
            try await place.open { token }.set("value", for: token)
            #expect(FileManager.default.fileExists(atPath: other.path))
            #expect(!FileManager.default.fileExists(atPath: own.path))
            try FileManager.default.removeItem(at: other)
        }
    }

    @Test("A relative path of a key file or sealed file is refused")
    func relative() async throws {
        try await withPlace { place in
            let encrypted: StorageKey<String> = Store.encrypted.key("encrypted")
            let storage = try await place.open(StorageOptions(rootKey: .keyFile("keys/root"))) { encrypted }
            await expectFailure(.notConfigured) { try await storage.set("value", for: encrypted) }
            let token: StorageKey<String> = Store.keychain.key("token")
            for path in ["sealed", "./sealed", ""] {
                await expectFailure(.notConfigured) {
                    var options = place.options
                    options.keychain = .sealedFile(at: path, key: .keyFile(place.folder.child("keys/root").path))
                    _ = try await place.open(options) { token }
                }
            }
        }
    }

    @Test("Another spelling of a sealed file's path names the same file")
    func spelling() async throws {
        try await withPlace { place in
            let token: StorageKey<String> = Store.keychain.key("token")
            try await place.open { token }.set("value", for: token)
            var options = place.options
            options.keychain = .sealedFile(
                at: place.folder.path + "//./sealed", key: .keyFile(place.folder.child("keys").child("sealed").path))
            #expect(try await place.open(options) { token }.get(token) == "value")
        }
    }

    // MARK: The key of a sealed file

    @Test("A wrong key of a sealed file writes nothing and is requested again")
    func wrongKey() async throws {
        try await withPlace { place in
            try await withPlace { second in
                let token: StorageKey<String> = Store.keychain.key("token")
                let (right, wrong) = (Data(repeating: 1, count: 32), Data(repeating: 2, count: 32))
                let given = Mutex(right)
                var options = place.options
                options.keychain = .sealedFile(
                    at: place.folder.child("sealed").path,
                    key: .custom { SymmetricKey(data: given.withLock { $0 }) })
                try await place.open(options) { token }.set("value", for: token)
                given.withLock { $0 = wrong }
                let storage = try await place.open(options) { token }
                await expectFailure(.keyMismatch) { _ = try await storage.get(token) }
                let other = try await second.open(options) { token }
                await expectFailure(.keyMismatch) { try await other.set("other", for: token) }
                given.withLock { $0 = right }
                #expect(try await storage.get(token) == "value")
                try await other.set("other", for: token)
                #expect(try await other.get(token) == "other")
                #expect(try await place.open(options) { token }.get(token) == "value")
            }
        }
    }

    // MARK: Many routers

    @Test(
        "More routers than blocking threads set values in one place concurrently",
        .timeLimit(.minutes(10)),
        arguments: ["file", "keychain"])
    func manyRouters(domain: String) async throws {
        try await withPlace { place in
            let store = try #require(Store(rawValue: domain))
            let key: StorageKey<Int> = store.key("key", default: 0)
            let secret: StorageKey<Int> = Store.encryptedFile.key("secret", default: 0)
            var routers: [StorageRouter] = []
            for _ in 0..<40 {
                routers.append(
                    try await place.open {
                        key
                        secret
                    })
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for router in routers {
                    group.addTask {
                        for _ in 0..<3 {
                            try await router.update(key) { $0 += 1 }
                            try await router.update(secret) { $0 += 1 }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await routers[0].get(key) == 120)
            #expect(try await routers[0].get(secret) == 120)
        }
    }
}

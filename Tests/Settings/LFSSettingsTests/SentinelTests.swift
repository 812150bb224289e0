import Foundation
import GRDB
import LFSSettings
import TestSupport
import Testing

@Suite("Key chain sentinel", .timeLimit(.minutes(10)))
struct SentinelTests {
    private let token: StorageKey<String> = Store.keychain.key("account.token")

    @Test("Reading before the first secret finds nothing and creates nothing")
    func untouched() async throws {
        try await withPlace { place in
            let storage = try await place.open { token }
            #expect(try await storage.getIfPresent(token) == nil)
            #expect(try await !storage.exists(token))
            #expect(try await storage.audit().entries.first?.storedCount == 0)
            #expect(!FileManager.default.fileExists(atPath: place.folder.child("sealed").path))
        }
    }

    @Test("An emptied key chain is an error until it is adopted")
    func emptied() async throws {
        try await withPlace { place in
            let storage = try await place.open { token }
            try await storage.set("secret", for: token)
            try await storage.remove(token)
            #expect(try await storage.getIfPresent(token) == nil)
            try await storage.set("secret", for: token)
            try FileManager.default.removeItem(at: place.folder.child("sealed"))
            for storage in [storage, try await place.open { token }] {
                await expectFailure(.keychainReplaced) { _ = try await storage.getIfPresent(token) }
                await expectFailure(.keychainReplaced) { try await storage.set("x", for: token) }
            }
            #expect(!FileManager.default.fileExists(atPath: place.folder.child("sealed").path))
            try await storage.adoptKeychain()
            #expect(try await storage.getIfPresent(token) == nil)
            try await storage.set("new", for: token)
            #expect(try await place.open { token }.get(token) == "new")
        }
    }

    @Test("A different key chain is an error that names both chains until it is adopted")
    func changed() async throws {
        try await withPlace { place in
            try await place.open { token }.set("secret", for: token)
            var options = place.options
            let other = place.folder.child("other").path
            options.keychain = .sealedFile(at: other, key: .keyFile(place.folder.child("keys").child("other").path))
            let storage = try await place.open(options) { token }
            do {
                _ = try await storage.getIfPresent(token)
                Issue.record("No error was thrown.")
            } catch let error as SettingsError {
                #expect(error.code == .keychainReplaced)
                #expect(error.message.contains(other) && error.message.contains(place.folder.child("sealed").path))
            }
            try await storage.adoptKeychain()
            #expect(try await storage.getIfPresent(token) == nil)
            await expectFailure(.keychainReplaced) { _ = try await place.open { token }.getIfPresent(token) }
        }
    }

    /// Copies all of a place to another folder, like a restored backup or a renamed folder.
    private func withMoved(_ place: Place, _ body: (Place) async throws -> Void) async throws {
        try await withTemporaryFolder { parent in
            let folder = parent.child("moved")
            try FileManager.default.copyItem(at: place.folder, to: folder)
            let moved = Place(folder: folder, database: try Place.database(in: folder))
            try await body(moved)
            try moved.database.close()
        }
    }

    @Test("A moved app folder keeps its secrets and filed values")
    func moved() async throws {
        try await withPlace { place in
            func filed(_ place: Place) -> StorageKey<String> {
                StorageKey("filed", domain: .file(in: .folder(place.folder.child("state").path)))
            }
            let storage = try await place.open {
                token
                filed(place)
            }
            try await storage.set("secret", for: token)
            try await storage.set("value", for: filed(place))
            try await withMoved(place) { moved in
                for _ in 1...2 {
                    let again = try await moved.open {
                        token
                        filed(moved)
                    }
                    #expect(try await again.get(token) == "secret")
                    #expect(try await again.get(filed(moved)) == "value")
                    try await again.set("secret", for: token)
                }
                // A removal does not depend on the earlier folder.
                try FileManager.default.removeItem(at: place.folder.child("state"))
                try await moved.open { filed(moved) }.removeAll()
            }
        }
    }

    @Test("A database that was moved alone finds its key chain in the former place")
    func movedAlone() async throws {
        try await withPlace { place in
            try await place.open { token }.set("secret", for: token)
            try await withMoved(place) { moved in
                try FileManager.default.removeItem(at: moved.folder.child("sealed"))
                var options = moved.options
                options.keychain = place.keychain
                #expect(try await moved.open(options) { token }.get(token) == "secret")
                await expectFailure(.keychainReplaced) { _ = try await moved.open { token }.get(token) }
            }
        }
    }

    @Test("Two databases that share a sealed file keep separate secrets")
    func shared() async throws {
        try await withPlace { first in
            try await withPlace { second in
                var options = second.options
                options.keychain = first.keychain
                let (one, two) = (try await first.open { token }, try await second.open(options) { token })
                try await one.set("one", for: token)
                #expect(try await two.getIfPresent(token) == nil)
                try await two.set("two", for: token)
                #expect(try await one.get(token) == "one")
                try await one.removeAll()
                #expect(try await one.getIfPresent(token) == nil)
                #expect(try await two.get(token) == "two")
            }
        }
    }

    @Test("A reset removes rows, files and secrets by the next use at the latest")
    func reset() async throws {
        for byOpen in [true, false] {
            try await withPlace { place in
                let keys: [StorageKey<String>] = Store.allCases.map { $0.key("key.\($0.rawValue)") }
                let orphan = StorageKey<String>("orphan", domain: .file(in: .folder(place.folder.child("old").path)))
                try await place.open { orphan }.set("canary", for: orphan)
                let storage = try await place.open { keys }
                for key in keys { try await storage.set("canary", for: key) }
                await #expect(throws: CancellationError.self) {
                    try await place.database.write { db in
                        try storage.removeAll(in: db)
                        throw CancellationError()
                    } as Void
                }
                for key in keys { #expect(try await storage.get(key) == "canary") }
                try await place.database.write { db in try storage.removeAll(in: db) }
                if byOpen { _ = try await place.open { keys } }
                for key in keys.dropLast(byOpen ? 1 : 0) {
                    #expect(try await storage.getIfPresent(key) == nil, "\(key.name)")
                }
                let audit = try await storage.audit()
                #expect(audit.orphans == [])
                for key in keys { try await storage.set("new", for: key) }
                for key in keys { #expect(try await storage.get(key) == "new") }
                for key in keys.dropLast() { #expect(try await place.open { keys }.get(key) == "new") }
            }
        }
    }

    @Test("A reset killed at any operation removes all values or none")
    func resetKilled() async throws {
        for domain in ["file", "keychain", "encryptedFile"] {
            let store = try #require(Store(rawValue: domain))
            let (first, second): (StorageKey<String>, StorageKey<String>) = (store.key("first"), store.key("second"))
            for number in 1...200 {
                var hasFired = false
                try await withPlace { place in
                    func open() async throws -> StorageRouter {
                        try await place.open {
                            first
                            second
                        }
                    }
                    let storage = try await open()
                    try await storage.set("one", for: first)
                    try await storage.set("two", for: second)
                    hasFired = try await HelperRun("flow", in: place.folder, arguments: domain, "reset")
                        .finish(failing: number, .kill).hasFired
                    let again = try await open()
                    let values = [try await again.getIfPresent(first), try await again.getIfPresent(second)]
                    #expect(values == [nil, nil] || values == ["one", "two"], "\(domain) \(number): \(values)")
                    try await again.removeAll()
                    let counts = try await again.audit().entries.map(\.storedCount)
                    #expect(counts == [0, 0])
                }
                if !hasFired { break }
            }
        }
    }
}

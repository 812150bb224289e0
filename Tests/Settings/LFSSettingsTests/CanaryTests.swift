import Foundation
import GRDB
import LFSPassphrase
import LFSSettings
import TestSupport
import Testing

@Suite("Secrecy of values", .timeLimit(.minutes(10)))
struct CanaryTests {
    private struct Account: Codable, Sendable, Equatable {
        var token: String
        var scopes: [String: Int]
    }

    /// Swift's error for text that matches no case quotes the text.
    private enum Mode: String, Codable, Sendable {
        case light
    }

    private struct Other: Codable, Sendable {
        var token: Mode
        var scopes: [String: String] = [:]
    }

    private static let stores: [Store] = [.encrypted, .chaCha, .encryptedFile, .keychain]
    /// The letters never occur in a hexadecimal id, where digits could match by chance.
    private static let canary = "canary-quokka"

    @Test("A secret that fails to decode appears in no error, log, audit or dump", arguments: stores)
    func undecodable(store: Store) async throws {
        try await withPlace { place in
            let log = LogLines()
            var options = place.options
            options.logger = log.logger
            let key: StorageKey<Account> = store.key("account")
            let other: StorageKey<Other> = store.key("account")
            let account = Account(token: Self.canary, scopes: [Self.canary: 1])
            try await place.open(options) { key }.set(account, for: key)
            let moved: StorageKey<Int> = StorageKey(
                "moved", domain: store.domain, security: store.security,
                migrations: [.transform(from: other) { _ in 1 }])
            let storage = try await place.open(options) {
                other
                moved
            }
            let large = Other(token: .light, scopes: [Self.canary: String(repeating: "x", count: 17 << 20)])
            let attempts: [@Sendable () async throws -> Void] = [
                { _ = try await storage.get(other) },
                { try await storage.update(other) { $0.token = .light } },
                { for try await _ in storage.values(of: other) {} },
                { _ = try await storage.get(moved) },
                { try await storage.set(large, for: other) },
            ]
            var text = ""
            for attempt in attempts { text += await Self.failure(of: attempt) }
            text += String(decoding: try JSONEncoder().encode(try await storage.audit()), as: UTF8.self)
            text += log.all.joined()
            #expect(!text.contains("canary") && !text.contains("quokka"))
            #expect(try await place.open(options) { key }.get(key) == account)
        }
    }

    @Test("Errors of a full disk or a bad file contain neither values nor family ids")
    func below() async throws {
        try await withPlace { place in
            let note = StorageKey<String>("note")
            let family = StorageKey<String>.Family(StorageKey("mark", domain: .file()))
            let secrets = StorageKey<String>.Family(StorageKey("secret", security: .encrypted))
            let member = family[Self.canary]
            let storage = try await place.open {
                note
                family
                secrets
            }
            try await storage.set("x", for: note)
            try await storage.set("x", for: member)
            try await storage.set("x", for: secrets[Self.canary])
            let file = try place.filesFolder().child("mark.\(Self.canary).setting")
            try FileManager.default.removeItem(at: file)
            try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
            var text = await Self.failure { _ = try await storage.get(member) }
            text += await Self.failure { try await storage.set("y", for: member) }
            // SQLite reports a full disk when the database reaches its maximum page count.
            let pages = try await place.database.write { db in
                let count = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                return try Int.fetchOne(db, sql: "PRAGMA max_page_count = \(count)")
            }
            #expect(pages != nil)
            let large = String(repeating: Self.canary, count: 4_000)
            text += await Self.failure { try await storage.set(large, for: note) }
            try await place.database.write { db in
                _ = try Int.fetchOne(db, sql: "PRAGMA max_page_count = 1000000")
            }
            // No catalog declares this family any more.
            let other = try await place.open { note }
            try await place.execute("DELETE FROM lfs_setting WHERE name = 'note'")
            let row = try await place.bytes(of: "secret.\(Self.canary)")
            try await other.rotateKeys()
            try await place.execute("UPDATE lfs_setting SET value = ?", arguments: [row])
            text += await Self.failure { try await other.forgetRetiredKeys() }
            try await place.execute("UPDATE lfs_setting SET value = CAST(value || x'00' AS BLOB)")
            try await other.rotateKeys()
            #expect(!text.contains("canary") && !text.contains("quokka"))
        }
    }

    @Test("Lending the bytes of a secret yields exactly the stored bytes")
    func lent() async throws {
        try await withPlace { place in
            let key = StorageKey<Data>("key", security: .encrypted, serializer: .data)
            let storage = try await place.open { key }
            for content in [Data(), Data("secret".utf8)] {
                try await storage.set(content, for: key)
                #expect(try await storage.withBytes(of: key) { Data($0) } == content)
            }
        }
    }

    /// Returns the text of everything that the body's error contains.
    private static func failure(of body: @Sendable () async throws -> Void) async -> String {
        do {
            try await body()
            Issue.record("No error was thrown.")
            return ""
        } catch {
            var text = "\(error) \(String(reflecting: error)) \((error as NSError).userInfo)"
            dump(error, to: &text)
            return text
        }
    }

    @Test("A secret appears in no file, log or error after every operation on it")
    func everywhere() async throws {
        try await withPlace { place in
            let log = LogLines()
            var options = place.options
            options.logger = log.logger
            let keys: [StorageKey<String>] = Self.stores.map { $0.key("key.\($0.rawValue)") }
            let family = StorageKey<String>.Family(StorageKey("family", security: .encrypted))
            let member = family["\(Self.canary)@example.com"]
            func open() async throws -> StorageRouter {
                try await place.open(options) {
                    keys
                    family
                }
            }
            let storage = try await open()
            for key in keys + [member] {
                try await storage.set(Self.canary, for: key)
                try await storage.update(key) { $0 += Self.canary }
                #expect(try await storage.get(key).contains(Self.canary))
            }
            try await storage.write { batch in try batch.set(Self.canary, for: keys[0]) }
            try await storage.rotateKeys()
            _ = try await storage.audit()
            _ = try await storage.snapshot()
            _ = try await open().get(keys[2])
            try await storage.remove(keys[1])
            var found: [String] = []
            for path in try FileManager.default.subpathsOfDirectory(atPath: place.folder.path) {
                var isFolder: ObjCBool = false
                let file = place.folder.child(path)
                guard FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder), !isFolder.boolValue
                else { continue }
                let bytes = try Data(contentsOf: file)
                let forms = [Self.canary, Data(Self.canary.utf8).base64EncodedString(), "quokka"]
                if path.contains("quokka") || forms.contains(where: { bytes.range(of: Data($0.utf8)) != nil }) {
                    found.append(path)
                }
            }
            #expect(found == [])
            #expect(!log.all.joined().contains("quokka"))
            // The plain value shows that the search finds a value that is present.
            let plain = StorageKey<String>("plain")
            try await place.open { plain }.set(Self.canary, for: plain)
            let log2 = try Data(contentsOf: place.folder.child("app.sqlite-wal"))
            #expect(log2.range(of: Data(Self.canary.utf8)) != nil)
        }
    }
}

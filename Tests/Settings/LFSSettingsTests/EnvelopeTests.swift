import Crypto
import Foundation
import GRDB
import LFSSystem
import TestSupport
import Testing

@testable import LFSSettings

@Suite("Envelopes", .timeLimit(.minutes(10)))
struct EnvelopeTests {
    private static let suites: [EnvelopeSuite] = [.aesGCM, .chaChaPoly]
    private let key = DataKey(id: .random(), key: SymmetricKey(size: .bits256))
    private let context = EnvelopeContext(
        installID: FileID.make(), domain: "database", name: "account.token", serializer: "json", version: 1)

    @Test("A sealed value of any length opens unchanged", arguments: suites)
    private func opens(suite: EnvelopeSuite) throws {
        for count in [0, 1, 15, 16, 17, 64 << 10] {
            let value = Data((0..<count).map { UInt8(truncatingIfNeeded: $0) })
            let envelope = try Envelope.close(value, with: key, suite: suite, for: context)
            #expect(envelope.count == count + Envelope.overhead)
            #expect(try Envelope.open(envelope, with: key, for: context) == value)
        }
    }

    @Test("A flipped, cut or extended envelope does not open", arguments: suites)
    private func flipped(suite: EnvelopeSuite) async throws {
        let envelope = try Envelope.close(Data("value".utf8), with: key, suite: suite, for: context)
        for index in envelope.indices {
            for bit in 0..<8 {
                var damaged = envelope
                damaged[index] ^= 1 << bit
                #expect(throws: SettingsError.self, "byte \(index), bit \(bit)") {
                    try Envelope.open(damaged, with: key, for: context)
                }
            }
            #expect(throws: SettingsError.self) { try Envelope.open(envelope.prefix(index), with: key, for: context) }
        }
        #expect(throws: SettingsError.self) { try Envelope.open(envelope + [0], with: key, for: context) }
    }

    @Test("An envelope opens only for its own key, database, domain, serializer and version", arguments: suites)
    private func moved(suite: EnvelopeSuite) throws {
        let envelope = try Envelope.close(Data("value".utf8), with: key, suite: suite, for: context)
        let (id, domain, name, serializer) = (context.installID, context.domain, context.name, context.serializer)
        let others = [
            EnvelopeContext(installID: .make(), domain: domain, name: name, serializer: serializer, version: 1),
            EnvelopeContext(installID: id, domain: "file", name: name, serializer: serializer, version: 1),
            EnvelopeContext(installID: id, domain: domain, name: "account.other", serializer: serializer, version: 1),
            EnvelopeContext(installID: id, domain: domain, name: name, serializer: "plist", version: 1),
            EnvelopeContext(installID: id, domain: domain, name: name, serializer: serializer, version: 2),
            // The same letters, split at another place.
            EnvelopeContext(installID: id, domain: domain + name, name: "", serializer: serializer, version: 1),
        ]
        for other in others {
            #expect(throws: SettingsError.self) { try Envelope.open(envelope, with: key, for: other) }
        }
        let otherKey = DataKey(id: key.id, key: SymmetricKey(size: .bits256))
        #expect(throws: SettingsError.self) { try Envelope.open(envelope, with: otherKey, for: context) }
    }

    @Test("Swapped rows and rows of another database are errors", arguments: [Store.encrypted, .chaCha])
    func swapped(store: Store) async throws {
        let elsewhere = try await withOther(store)
        try await withPlace { place in
            let (one, two): (StorageKey<String>, StorageKey<String>) = (store.key("one"), store.key("two"))
            let storage = try await place.open {
                one
                two
            }
            try await storage.set("first", for: one)
            try await storage.set("second", for: two)
            let swap = """
                UPDATE lfs_setting SET value = (SELECT value FROM lfs_setting AS o WHERE o.name <> lfs_setting.name)
                """
            let (first, second) = (try await place.bytes(of: "one"), try await place.bytes(of: "two"))
            #expect(first != second && first != nil)
            try await place.execute(swap + " WHERE name = 'one'")
            await expectFailure(.corrupted) { _ = try await storage.get(one) }
            #expect(try await storage.get(two) == "second")
            try await place.execute("UPDATE lfs_setting SET value = ? WHERE name = 'one'", arguments: [elsewhere])
            await expectFailure(.keyMissing) { _ = try await storage.get(one) }
            try await place.execute(
                "UPDATE lfs_setting SET value = ?, serializer = 'string' WHERE name = 'one'", arguments: [first])
            await expectFailure(.corrupted) { _ = try await storage.get(one) }
            try await place.execute(
                "UPDATE lfs_setting SET value = ?, version = 9 WHERE name = 'one'", arguments: [first])
            await expectFailure(.corrupted) { _ = try await storage.get(one) }
            // Plain text in place of an envelope is refused too.
            try await place.execute(
                """
                UPDATE lfs_setting SET value = CAST('"x"' AS BLOB), serializer = 'json', version = 1
                WHERE name = 'one'
                """
            )
            await expectFailure(.corrupted) { _ = try await storage.get(one) }
        }
    }

    private func withOther(_ store: Store) async throws -> Data? {
        var bytes: Data?
        try await withPlace { place in
            let key: StorageKey<String> = store.key("one")
            try await place.open { key }.set("elsewhere", for: key)
            bytes = try await place.bytes(of: "one")
        }
        return bytes
    }

    @Test("Envelopes never share a salt or a nonce")
    func salts() throws {
        // `LFS_SETTINGS_SALTS` sets another number. Manual runs use 10⁶.
        let count = Int(ProcessInfo.processInfo.environment["LFS_SETTINGS_SALTS"] ?? "") ?? 20_000
        var (salts, nonces): (Set<Data>, Set<Data>) = ([], [])
        for _ in 0..<count {
            let header = try Envelope.header(of: try Envelope.close(Data(), with: key, suite: .aesGCM, for: context))
            salts.insert(header.salt)
            nonces.insert(header.nonce)
        }
        #expect(salts.count == count)
        #expect(nonces.count == count)
    }

    @Test("Setting the same value twice stores different bytes")
    func writes() async throws {
        try await withPlace { place in
            let key: StorageKey<String> = Store.encrypted.key("key")
            let storage = try await place.open { key }
            try await storage.set("canary-value", for: key)
            let first = try #require(try await place.bytes(of: "key"))
            try await storage.set("canary-value", for: key)
            let second = try #require(try await place.bytes(of: "key"))
            #expect(first != second)
            #expect(first.range(of: Data("canary".utf8)) == nil)
        }
    }

    @Test("Descriptions and dumps of keys do not reveal key bytes")
    func redacted() {
        let bytes = Data(repeating: 0xA7, count: 32)
        let key = DataKey(id: .random(), key: SymmetricKey(data: bytes))
        let set = KeySet(current: key, all: [key.id: key], unreadable: [])
        var text = ""
        dump(key, to: &text)
        dump(set, to: &text)
        dump(KeySource.custom { SymmetricKey(data: bytes) }, to: &text)
        text += "\(key) \(set) \(String(reflecting: key))"
        for form in ["167, 167", "a7a7", "p6en"] { #expect(!text.lowercased().contains(form), "\(text)") }
    }
}

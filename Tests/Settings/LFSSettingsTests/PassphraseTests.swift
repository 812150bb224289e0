import Crypto
import Foundation
import GRDB
import LFSPassphrase
import LFSSettings
import Synchronization
import TestSupport
import Testing

@Suite("Passphrases", .timeLimit(.minutes(10)))
struct PassphraseTests {
    private func derived(_ algorithm: PassphraseHashing, words: String, salt: String, count: Int) throws -> Data {
        let parameters = PassphraseParameters(algorithm, salt: Data(salt.utf8))
        return try parameters.key(of: Passphrase(words), byteCount: count).withUnsafeBytes { Data($0) }
    }

    @Test("PBKDF2 and scrypt match the test vectors of RFC 7914")
    func vectors() throws {
        // Section 11: PBKDF2-HMAC-SHA-256, P "passwd", S "salt", c 1, 64 bytes.
        let first = try derived(.pbkdf2(unsafeRounds: 1), words: "passwd", salt: "salt", count: 64)
        #expect(
            first
                == Data(
                    hex: "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"
                        + "49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783"))
        // Section 12: scrypt, P "pleaseletmein", S "SodiumChloride", N 16384, r 8, p 1, 64 bytes.
        let second = try derived(.scrypt(unsafeCost: 16_384), words: "pleaseletmein", salt: "SodiumChloride", count: 64)
        #expect(
            second
                == Data(
                    hex: "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
                        + "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"))
    }

    @Test("Derived keys match those of Python's hashlib", .enabled(if: Python.isThere))
    func python() async throws {
        let words = "a passphrase, ✓"
        let code = """
            import hashlib,sys
            w,s=sys.argv[1].encode(),sys.argv[2].encode()
            print(hashlib.pbkdf2_hmac('sha256',w,s,1000,32).hex())
            print(hashlib.scrypt(w,salt=s,n=16384,r=8,p=1,maxmem=2**26,dklen=32).hex())
            """
        let answer = try await withTemporaryFolder { folder in
            var run = ToolRun("python3", arguments: ["-c", code, words, "salt"])
            run.output = folder.child("output")
            #expect(try await run.finish() == 0)
            return String(decoding: try Data(contentsOf: folder.child("output")), as: UTF8.self)
        }.split(separator: "\n").map { Data(hex: String($0)) }
        #expect(answer[0] == (try derived(.pbkdf2(unsafeRounds: 1_000), words: words, salt: "salt", count: 32)))
        #expect(answer[1] == (try derived(.scrypt(unsafeCost: 16_384), words: words, salt: "salt", count: 32)))
    }

    @Test("HKDF-SHA-256 matches the first test vector of RFC 5869")
    func hkdf() throws {
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Data(repeating: 0x0B, count: 22)), salt: Data(0...12),
            info: Data(0xF0...0xF9), outputByteCount: 42)
        let expected = Data(
            hex: "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")
        #expect(key.withUnsafeBytes { Data($0) } == expected)
    }

    private func source(_ words: String, hashing: PassphraseHashing = .pbkdf2(unsafeRounds: 10)) -> KeySource {
        .passphrase(hashing, isChecked: false) { Passphrase(words) }
    }

    @Test("Values open only with the same passphrase in any Unicode normalization", arguments: [true, false])
    func values(usesScrypt: Bool) async throws {
        let hashing: PassphraseHashing = usesScrypt ? .scrypt(unsafeCost: 16) : .pbkdf2(unsafeRounds: 10)
        try await withPlace { place in
            let key: StorageKey<String> = Store.encrypted.key("key")
            // Keyboards produce é as one character or as two.
            let first = StorageOptions(rootKey: source("caf\u{E9}", hashing: hashing))
            try await place.open(first) { key }.set("value", for: key)
            let again = StorageOptions(rootKey: source("cafe\u{301}", hashing: hashing))
            #expect(try await place.open(again) { key }.get(key) == "value")
            let wrong = try await place.open(StorageOptions(rootKey: source("cafe", hashing: hashing))) { key }
            await expectFailure(.keyMismatch) { _ = try await wrong.get(key) }
            await expectFailure(.keyMismatch) { try await wrong.set("x", for: key) }
            #expect(try await place.open(first) { key }.get(key) == "value")
        }
    }

    @Test("Stored passphrase parameters out of bounds are refused")
    func bounds() async throws {
        try await withPlace { place in
            let key: StorageKey<String> = Store.encrypted.key("key")
            try await place.open(StorageOptions(rootKey: source("words"))) { key }.set("value", for: key)
            let salt = Data(count: 32).base64EncodedString()
            var notes = [1, 0, -1, 1 << 31, 209_999, 10_000_001].flatMap { cost in
                ["pbkdf2-sha256", "pbkdf2-sha512"].map {
                    "{\"algorithm\":\"\($0)\",\"cost\":\(cost),\"salt\":\"\(salt)\"}"
                }
            }
            notes += [1, 3, 1 << 13, 1 << 19, 1 << 20, 1 << 21, 1 << 31, (1 << 17) + 1].map {
                "{\"algorithm\":\"scrypt\",\"cost\":\($0),\"blockSize\":8,\"parallelism\":1,\"salt\":\"\(salt)\"}"
            }
            notes += [(9, 1), (1 << 20, 1), (8, 0), (8, 17), (8, 1 << 40)].map { size, parallelism in
                """
                {"algorithm":"scrypt","cost":131072,"blockSize":\(size),"parallelism":\(parallelism),"salt":"\(salt)"}
                """
            }
            notes += ["", "{}", "null", "{\"algorithm\":\"md5\",\"cost\":600000,\"salt\":\"\(salt)\"}"]
            notes += ["{\"algorithm\":\"pbkdf2-sha256\",\"cost\":600000,\"salt\":\"AA==\"}"]
            for note in notes {
                try await place.execute("UPDATE lfs_setting_state SET rootKeyNote = ?", arguments: [Data(note.utf8)])
                let storage = try await place.open(
                    StorageOptions(rootKey: .passphrase { Passphrase("words") })
                ) { key }
                await expectFailure(.corrupted, comment: "\(note)") { _ = try await storage.get(key) }
            }
        }
    }

    @Test("A passphrase that is not available at opening is requested by the next call")
    func locked() async throws {
        try await withPlace { place in
            let key: StorageKey<String> = Store.encrypted.key("key")
            let plain = StorageKey<Int>("plain", default: 1)
            let isOpen = Mutex(true)
            let source = KeySource.passphrase(.pbkdf2(unsafeRounds: 10), isChecked: false) {
                guard isOpen.withLock({ $0 }) else { throw SettingsError(.locked, message: "Not now.") }
                return Passphrase("words")
            }
            try await place.open(StorageOptions(rootKey: source)) { key }.set("value", for: key)
            isOpen.withLock { $0 = false }
            let storage = try await place.open(StorageOptions(rootKey: source)) {
                key
                plain
            }
            await expectFailure(.locked) { _ = try await storage.get(key) }
            await expectFailure(.locked) { try await storage.write { try $0.set("x", for: key) } }
            await expectFailure(.locked) { _ = try await storage.discardUnreadable() }
            #expect(try await storage.get(plain) == 1)
            isOpen.withLock { $0 = true }
            #expect(try await storage.get(key) == "value")
        }
    }

    @Test("A sealed file keeps its salt after it was deleted and adopted again")
    func sealedFile() async throws {
        try await withPlace { place in
            let key: StorageKey<String> = Store.keychain.key("key")
            let path = place.folder.child("sealed").path
            func options(_ words: String) -> StorageOptions {
                StorageOptions(keychain: .sealedFile(at: path, key: source(words)))
            }
            let storage = try await place.open(options("words")) { key }
            try await storage.set("value", for: key)
            #expect(try await place.open(options("words")) { key }.get(key) == "value")
            let wrong = try await place.open(options("other")) { key }
            await expectFailure(.keyMismatch) { _ = try await wrong.get(key) }
            try FileManager.default.removeItem(atPath: path)
            try await storage.adoptKeychain()
            try await storage.set("again", for: key)
            #expect(try await place.open(options("words")) { key }.get(key) == "again")
        }
    }

    @Test("The descriptions of a passphrase do not reveal it")
    func redacted() {
        var text = "\(Passphrase("canary")) \(String(reflecting: Passphrase("canary")))"
        dump(Passphrase("canary"), to: &text)
        #expect(!text.contains("canary") && !text.contains("99, 97"))
    }
}

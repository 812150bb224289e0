import Foundation
import GRDB
import LFSSettings
import TestSupport
import Testing

@Suite("Root keys", .timeLimit(.minutes(10)))
struct RootKeyTests {
    private static let stores: [Store] = [.encrypted, .encryptedFile, .keychain]

    /// Returns the file with the root key of a store.
    private func file(_ store: Store, place: Place) -> URL {
        place.folder.child("keys").child(store == .keychain ? "sealed" : "root")
    }

    /// Returns the contents of the database and of the folders of values.
    private func contents(_ place: Place) async throws -> [String] {
        var contents = try await place.database.read { db in
            try Row.fetchAll(db, sql: "SELECT name, value FROM lfs_setting ORDER BY name").map { "\($0)" }
                + Row.fetchAll(db, sql: "SELECT id, wrapped, state FROM lfs_setting_key ORDER BY id").map { "\($0)" }
        }
        for path in try FileManager.default.subpathsOfDirectory(atPath: place.folder.path).sorted()
        where path.hasSuffix(".setting") || path == "sealed" {
            contents.append("\(path) \(try Data(contentsOf: place.folder.child(path)).base64EncodedString())")
        }
        return contents
    }

    private func withValue(
        _ store: Store, _ body: (Place, StorageKey<String>, URL) async throws -> Void
    ) async throws {
        try await withPlace { place in
            let key: StorageKey<String> = store.key("key")
            try await place.open { key }.set("value", for: key)
            try await body(place, key, file(store, place: place))
        }
    }

    /// Expects that reading and writing fail and change nothing.
    private func expectLoss(_ code: SettingsError.Code, place: Place, key: StorageKey<String>) async throws {
        let before = try await contents(place)
        let plain = StorageKey<Int>("plain", default: 7)
        let storage = try await place.open {
            key
            plain
        }
        await expectFailure(code) { _ = try await storage.getIfPresent(key) }
        await expectFailure(code) { try await storage.set("x", for: key) }
        await expectFailure(code) { try await storage.update(key) { $0 += "x" } }
        #expect(try await storage.get(plain) == 7)
        #expect(try await contents(place) == before)
    }

    @Test("A missing root key is an error and is not replaced", arguments: stores)
    func gone(store: Store) async throws {
        try await withValue(store) { place, key, file in
            let bytes = try Data(contentsOf: file)
            try FileManager.default.removeItem(at: file)
            try await expectLoss(.keyMissing, place: place, key: key)
            #expect(!FileManager.default.fileExists(atPath: file.path))
            try bytes.write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
            #expect(try await place.open { key }.get(key) == "value")
        }
    }

    @Test("A wrong root key or an invalid key file is an error", arguments: stores)
    func other(store: Store) async throws {
        try await withValue(store) { place, key, file in
            for bytes in [Data(repeating: 1, count: 32), Data(), Data(count: 31), Data("no key at all\n".utf8)] {
                try bytes.write(to: file)
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
                try await expectLoss(.keyMismatch, place: place, key: key)
                #expect(try Data(contentsOf: file) == bytes)
            }
        }
    }

    @Test("A root key that other users can read or write is refused", arguments: stores)
    func readable(store: Store) async throws {
        try await withValue(store) { place, key, file in
            for mode in [0o644, 0o640, 0o604, 0o620] {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
                try await expectLoss(.permissionDenied, place: place, key: key)
            }
        }
    }

    @Test(
        "A root key in another user's folder is refused", .enabled(if: geteuid() == 0, "it takes root"),
        arguments: stores)
    func foreign(store: Store) async throws {
        try await withValue(store) { place, key, file in
            let folder = file.deletingLastPathComponent().path
            try FileManager.default.setAttributes([.ownerAccountID: 65_534], ofItemAtPath: folder)
            try await expectLoss(.permissionDenied, place: place, key: key)
            try FileManager.default.setAttributes([.ownerAccountID: 0], ofItemAtPath: folder)
            #expect(try await place.open { key }.get(key) == "value")
        }
    }

    @Test("Concurrent openers make one key file that only its user can read")
    func making() async throws {
        try await withPlace { place in
            let key: StorageKey<Int> = Store.encrypted.key("key", default: 0)
            let other = try place.otherDatabase()
            async let one = place.open { key }
            async let two = StorageRouter.open(
                other, catalogs: [StorageCatalog("app") { key }], options: place.options)
            try await (try await one).update(key) { $0 += 1 }
            try await (try await two).update(key) { $0 += 1 }
            #expect(try await place.open { key }.get(key) == 2)
            let file = place.folder.child("keys").child("root")
            #expect(try permissions(of: file) == 0o600)
            #expect(try permissions(of: file.deletingLastPathComponent()) == 0o700)
            #expect(try names(in: file.deletingLastPathComponent()) == ["root"])
            try other.close()
        }
    }

    @Test("Giving up the root key removes only the values that it encrypted")
    func discard() async throws {
        try await withPlace { place in
            let keys: [StorageKey<String>] = [Store.encrypted, .encryptedFile, .database, .file].map {
                $0.key("key.\($0.rawValue)")
            }
            var storage = try await place.open { keys }
            for key in keys { try await storage.set("value", for: key) }
            #expect(try await storage.discardUnreadable() == [])
            try FileManager.default.removeItem(at: file(.encrypted, place: place))
            storage = try await place.open { keys }
            #expect(try await storage.giveUpRootKey() == ["key.encrypted", "key.encryptedFile"])
            #expect(try await storage.getIfPresent(keys[0]) == nil)
            #expect(try await storage.getIfPresent(keys[1]) == nil)
            #expect(try await storage.get(keys[2]) == "value")
            #expect(try await storage.get(keys[3]) == "value")
            try await storage.set("new", for: keys[0])
            try await storage.set("new", for: keys[1])
            storage = try await place.open { keys }
            #expect(try await storage.get(keys[0]) == "new")
            #expect(try await storage.get(keys[1]) == "new")
            // A damaged value is discarded alone.
            try await place.execute(
                "UPDATE lfs_setting SET value = CAST(value || x'00' AS BLOB) WHERE name = 'key.encrypted'")
            #expect(try await storage.discardUnreadable() == ["key.encrypted"])
            #expect(try await storage.get(keys[1]) == "new")
        }
    }

    @Test("A root key in the key chain opens values and is not listed as an orphan")
    func keychain() async throws {
        try await withPlace { place in
            let key: StorageKey<String> = Store.encrypted.key("key")
            var options = place.options
            options.rootKey = .keychain
            try await place.open(options) { key }.set("value", for: key)
            let storage = try await place.open(options) { key }
            #expect(try await storage.get(key) == "value")
            #expect(try await storage.audit().orphans == [])
            try FileManager.default.removeItem(at: place.folder.child("sealed"))
            let emptied = try await place.open(options) { key }
            await expectFailure(.keychainReplaced) { _ = try await emptied.get(key) }
        }
    }

    // MARK: Credentials of services

    /// Returns the options of a service whose credentials are in a folder, or that has none.
    private func options(credentials folder: URL?, name: String = "lfs-root") -> StorageOptions {
        let environment = folder.map { ["CREDENTIALS_DIRECTORY": $0.path] } ?? [:]
        return StorageOptions(rootKey: .credential(name, environment: environment))
    }

    @Test("A service credential serves as root key in raw, hexadecimal and Base64 form")
    func credential() async throws {
        try await withPlace { place in
            let folder = place.folder.child("credentials")
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o500])
            let bytes = Data((0..<32).map { UInt8($0 * 7) })
            let hex = bytes.map { String($0, radix: 16).leftPadded }.joined()
            let key: StorageKey<String> = Store.encrypted.key("key")
            let options = options(credentials: folder)
            let forms = [bytes, Data((hex + "\n").utf8), Data((bytes.base64EncodedString() + "\n").utf8)]
            for (number, form) in forms.enumerated() {
                let file = folder.child("lfs-root")
                if number > 0 { try FileManager.default.removeItem(at: file) }
                try form.write(to: file)
                try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: file.path)
                let storage = try await place.open(options) { key }
                if number == 0 { try await storage.set("value", for: key) }
                #expect(try await storage.get(key) == "value")
            }
        }
    }

    @Test("An absent or invalid service credential is an error")
    func noCredential() async throws {
        try await withPlace { place in
            let folder = place.folder.child("credentials")
            let key: StorageKey<String> = Store.encrypted.key("key")
            func expectCode(_ code: SettingsError.Code, options: StorageOptions) async throws {
                let storage = try await place.open(options) { key }
                await expectFailure(code) { try await storage.set("x", for: key) }
            }
            let some = options(credentials: folder)
            try await expectCode(.keyMissing, options: options(credentials: nil))
            try await expectCode(.keyMissing, options: some)
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            try await expectCode(.keyMissing, options: some)
            let file = folder.child("lfs-root")
            for content in ["", "short", String(repeating: "g", count: 64), String(repeating: "0", count: 300)] {
                try Data(content.utf8).write(to: file)
                try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: file.path)
                try await expectCode(.keyMismatch, options: some)
                try FileManager.default.removeItem(at: file)
            }
            try Data(count: 32).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: file.path)
            try await expectCode(.permissionDenied, options: some)
            for name in ["../keys/root", ".."] {
                try await expectCode(.invalidName, options: options(credentials: folder, name: name))
            }
            #expect(
                try await place.database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM lfs_setting_key") } == 0
            )
        }
    }

    @Test(
        "A credential that root owns may be readable by its group",
        .enabled(if: geteuid() == 0, "it takes root"))
    func credentialOfRoot() async throws {
        try await withPlace { place in
            let folder = place.folder.child("credentials")
            let file = folder.child("lfs-root")
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o550])
            try Data(count: 32).write(to: file)
            let key: StorageKey<String> = Store.encrypted.key("key")
            let options = options(credentials: folder)
            for (mode, isTaken) in [(0o444, false), (0o460, false), (0o450, false), (0o440, true)] {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
                let storage = try await place.open(options) { key }
                if isTaken {
                    try await storage.set("value", for: key)
                } else {
                    await expectFailure(.permissionDenied) { try await storage.set("value", for: key) }
                }
            }
        }
    }

    @Test(
        "A credential that systemd-creds encrypted and decrypted opens the values",
        .enabled(if: Systemd.isThere))
    func systemd() async throws {
        try await withPlace { place in
            let (plain, sealed) = (place.folder.child("plain"), place.folder.child("sealed.cred"))
            let folder = place.folder.child("credentials")
            try Data((0..<32).map { _ in UInt8.random(in: 0...255) }).write(to: plain)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            let key: StorageKey<String> = Store.encrypted.key("key")
            let options = options(credentials: folder)
            #expect(
                try runTool(
                    "systemd-creds",
                    arguments: ["encrypt", "--name=lfs-root", "--with-key=host", plain.path, sealed.path]))
            for round in 0..<2 {
                let file = folder.child("lfs-root")
                if round > 0 { try FileManager.default.removeItem(at: file) }
                #expect(
                    try runTool("systemd-creds", arguments: ["decrypt", "--name=lfs-root", sealed.path, file.path]))
                try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: file.path)
                let storage = try await place.open(options) { key }
                if round == 0 { try await storage.set("value", for: key) }
                #expect(try await storage.get(key) == "value")
            }
        }
    }
}

enum Systemd {
    /// Indicates that systemd-creds can make credentials on this machine with a key of the machine.
    static let isThere: Bool = {
        do {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("lfs-creds-\(UUID().uuidString)")
            try Data([1]).write(to: folder)
            let isMade = try runTool(
                "systemd-creds", arguments: ["encrypt", "--with-key=host", folder.path, folder.path + ".out"])
            if isMade { try FileManager.default.removeItem(atPath: folder.path + ".out") }
            try FileManager.default.removeItem(at: folder)
            if !isMade { print("skipped: systemd-creds makes no credentials here") }
            return isMade
        } catch {
            print("skipped: systemd-creds does not run: \(error)")
            return false
        }
    }()
}

extension String {
    fileprivate var leftPadded: String { count == 1 ? "0" + self : self }
}

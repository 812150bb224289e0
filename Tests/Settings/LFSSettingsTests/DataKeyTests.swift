import Crypto
import Foundation
import GRDB
import LFSSettings
import Synchronization
import TestSupport
import Testing

@Suite("Data keys", .serialized, .timeLimit(.minutes(10)))
struct DataKeyTests {
    private let row: StorageKey<String> = Store.encrypted.key("row")
    private let file: StorageKey<String> = Store.encryptedFile.key("file")

    private func open(_ place: Place, options: StorageOptions? = nil) async throws -> StorageRouter {
        try await place.open(options) {
            row
            file
        }
    }

    /// Returns the number of commits that the settings have synced.
    private func syncs(_ place: Place) async throws -> Int {
        try await place.database.read { try Int.fetchOne($0, sql: "SELECT barrier FROM lfs_setting_state") ?? -1 }
    }

    @Test("A rotation covers other routers' folders, and a needed key is not forgotten")
    func otherFolders() async throws {
        try await withPlace { place in
            let storage = try await open(place)
            try await storage.set("value", for: file)
            let mine: StorageKey<String> = Store.encrypted.key("mine")
            let other = try await StorageRouter.open(
                place.database, catalogs: [StorageCatalog("other") { mine }], options: place.options)
            try await other.set("value", for: mine)
            try await other.rotateKeys()
            #expect(try await other.forgetRetiredKeys() == 1)
            #expect(try await open(place).get(file) == "value")
            // A missing folder may have values of a retired key.
            try await other.rotateKeys()
            let (folder, away) = (place.folder.child("app.sqlite.settings"), place.folder.child("away"))
            try FileManager.default.moveItem(at: folder, to: away)
            await expectFailure(.folderAbsent) { try await other.forgetRetiredKeys() }
            try FileManager.default.moveItem(at: away, to: folder)
            #expect(try await open(place).get(file) == "value")
        }
    }

    @Test(
        "A data key is synced to disk before it encrypts a file",
        arguments: [true, false])
    func durable(inTransaction: Bool) async throws {
        try await withPlace { place in
            let storage = try await open(place)
            try await storage.removeAll()
            let before = try await syncs(place)
            if inTransaction {
                try await place.database.write { db in try storage.set("value", for: row, in: db) }
                #expect(try await syncs(place) == before)
            } else {
                try await storage.set("value", for: row)
            }
            try await storage.set("value", for: file)
            #expect(try await syncs(place) > before)
            let synced = try await syncs(place)
            try await storage.set("more", for: file)
            #expect(try await syncs(place) == synced)
            #expect(try await open(place).get(file) == "more")
        }
    }

    @Test(
        "A data key made after a reset uses a stored root key",
        arguments: ["row", "file", "batch"])
    func afterRemoval(way: String) async throws {
        try await withPlace { place in
            let storage = try await open(place)
            try await storage.removeAll()
            try FileManager.default.removeItem(at: place.folder.child("keys").child("root"))
            switch way {
            case "row": try await storage.set("value", for: row)
            case "file": try await storage.set("value", for: file)
            default: try await storage.write { batch in try batch.set("value", for: row) }
            }
            let again = try await open(place)
            #expect(try await again.get(way == "file" ? file : row) == "value")
        }
    }

    // MARK: Making a root key

    @Test("Two concurrent openers end with the same root key")
    func together() async throws {
        for _ in 0..<20 {
            try await withPlace { place in
                let kept = Mutex<SymmetricKey?>(nil)
                let source = KeySource.custom(
                    load: {
                        let key = kept.withLock { $0 }
                        for _ in 0..<50 { await Task.yield() }
                        return key
                    }, store: { key in kept.withLock { $0 = key } })
                let database = try place.otherDatabase()
                async let first = place.open(StorageOptions(rootKey: source)) { row }
                async let second = StorageRouter.open(
                    database, catalogs: [StorageCatalog("app") { row }], options: StorageOptions(rootKey: source))
                let (one, two) = (try await first, try await second)
                try await one.set("value", for: row)
                #expect(try await two.get(row) == "value")
                #expect(try await place.open(StorageOptions(rootKey: source)) { row }.get(row) == "value")
                try database.close()
            }
        }
    }

    @Test("A root key of any length other than 256 bits is refused", arguments: [0, 8, 16, 31, 33, 64])
    func length(byteCount: Int) async throws {
        try await withPlace { place in
            let key = SymmetricKey(data: Data(repeating: 7, count: byteCount))
            let storage = try await open(place, options: StorageOptions(rootKey: .custom { key }))
            await expectFailure(.keyMismatch) { try await storage.set("value", for: row) }
            var options = place.options
            options.keychain = .sealedFile(at: place.folder.child("sealed").path, key: .custom { key })
            let token: StorageKey<String> = Store.keychain.key("token")
            let sealed = try await place.open(options) { token }
            await expectFailure(.keyMismatch) { try await sealed.set("value", for: token) }
            #expect(!FileManager.default.fileExists(atPath: place.folder.child("sealed").path))
        }
    }

    @Test("A kill at any step of making a key file leaves no second name of the key")
    func killed() async throws {
        var count = 0
        for number in 1...60 {
            var hasFired = false
            try await withPlace { place in
                hasFired = try await HelperRun("flow", in: place.folder, arguments: "encrypted", "open")
                    .finish(failing: number, .kill, below: "keys").hasFired
                let first: StorageKey<String> = Store.encrypted.key("first")
                let storage = try await place.open { first }
                try await storage.set("value", for: first)
                #expect(try await place.open { first }.get(first) == "value")
                #expect(try names(in: place.folder.child("keys")) == ["root"], "operation \(number)")
            }
            if !hasFired { break }
            count = number
        }
        #expect(count >= 4, "Only \(count) operations were killed.")
    }

    // MARK: Newer data

    @Test("A value in a newer envelope form does not stop a rotation but keeps the old keys")
    func laterForm() async throws {
        for isFile in [false, true] {
            try await withPlace { place in
                let (first, last): (StorageKey<String>, StorageKey<String>) = (
                    Store.encrypted.key("a.first"), Store.encrypted.key("z.last")
                )
                let raw = StorageKey<Data>("m.plain", serializer: .data)
                let storage = try await place.open {
                    first
                    raw
                    last
                    file
                }
                for key in [first, last, file] { try await storage.set("value", for: key) }
                // A plain value that begins like an envelope is not an envelope.
                try await storage.set(Data("LFSE".utf8) + Data(repeating: 9, count: 100), for: raw)
                if isFile {
                    // The form of the file itself is newer.
                    let path = try place.filesFolder().child("file.setting")
                    try laterForm(path)
                } else {
                    try await place.execute(
                        """
                        UPDATE lfs_setting SET value = CAST(substr(value, 1, 4) || x'02' || substr(value, 6) AS BLOB)
                        WHERE name = 'a.first'
                        """)
                }
                let before = try await place.bytes(of: "z.last")
                try await storage.rotateKeys()
                #expect(try await place.bytes(of: "z.last") != before)
                await expectFailure(.keyInUse) { try await storage.forgetRetiredKeys() }
                try await storage.remove(isFile ? file : first)
                #expect(try await storage.forgetRetiredKeys() == 1)
                #expect(try await storage.get(last) == "value")
            }
        }
    }

    /// Gives a value's file a later version and a matching digest. The envelope in it may name any key.
    private func laterForm(_ path: URL) throws {
        var bytes = try Data(contentsOf: path).dropLast(32)
        bytes[4] = 2
        let installID = path.deletingLastPathComponent().lastPathComponent.dropFirst("settings-".count)
        var digest = SHA256()
        digest.update(data: bytes)
        digest.update(data: Data("\(installID)/file".utf8))
        try (bytes + Data(digest.finalize())).write(to: path)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path.path)
    }
}

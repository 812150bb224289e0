import Foundation
import GRDB
import LFSSettings
import TestSupport
import Testing

@Suite("Damaged values", .timeLimit(.minutes(10)))
struct DamageTests {
    /// Returns the file of the value in the file domain, or the whole sealed file.
    private func file(_ store: Store, place: Place, name: String) throws -> URL {
        store == .keychain ? place.folder.child("sealed") : try place.filesFolder().child(name + ".setting")
    }

    @Test(
        "A flipped byte in its file makes a value an error, and the file stays unchanged",
        arguments: [Store.file, .encryptedFile, .keychain])
    func flipped(store: Store) async throws {
        try await withPlace { place in
            let (one, two): (StorageKey<String>, StorageKey<String>) = (store.key("one"), store.key("two"))
            let catalog = { [one, two] as [any CatalogEntry] }
            let storage = try await place.open { catalog() }
            try await storage.set("first", for: one)
            try await storage.set("second", for: two)
            let file = try file(store, place: place, name: "one")
            let bytes = try Data(contentsOf: file)
            var readable = 0
            for index in bytes.indices {
                var damaged = bytes
                damaged[index] ^= 0x10
                try damaged.write(to: file)
                do {
                    let value = try await storage.get(one)
                    // In a sealed file the byte may belong to another item.
                    #expect(store == .keychain && value == "first", "byte \(index)")
                    readable += 1
                } catch let error as SettingsError {
                    #expect([.corrupted, .newerValue, .keyMismatch].contains(error.code), "byte \(index): \(error)")
                    #expect(!"\(error)".contains("first"))
                }
                #expect(try Data(contentsOf: file) == damaged)
                if store != .keychain { #expect(try await storage.get(two) == "second") }
            }
            #expect(readable < bytes.count)
            try bytes.write(to: file)
            #expect(try await storage.get(one) == "first")
        }
    }

    @Test("A torn or overlong file is an error until a set replaces it", arguments: [Store.file, .encryptedFile])
    func torn(store: Store) async throws {
        try await withPlace { place in
            let (one, two): (StorageKey<String>, StorageKey<String>) = (store.key("one"), store.key("two"))
            let storage = try await place.open {
                one
                two
            }
            try await storage.set("first", for: one)
            try await storage.set("second", for: two)
            let file = try file(store, place: place, name: "one")
            let bytes = try Data(contentsOf: file)
            let damages = (0..<bytes.count).map { bytes.prefix($0) } + [bytes + [0], bytes + bytes]
            for damage in damages {
                try damage.write(to: file)
                await expectFailure(.corrupted, comment: "\(damage.count) bytes") { _ = try await storage.get(one) }
                await expectFailure(.corrupted) { try await storage.update(one) { $0 += "x" } }
                #expect(try Data(contentsOf: file) == damage)
            }
            try Data(count: 17 << 20).write(to: file)
            await expectFailure(.corrupted) { _ = try await storage.get(one) }
            #expect(try await storage.get(two) == "second")
            #expect(try await storage.audit().entries.map(\.problem) == ["corrupted", nil])
            try await storage.set("mended", for: one)
            #expect(try await storage.get(one) == "mended")
        }
    }

    @Test("A foreign file, a symbolic link, a folder and a hard link are not read as values", arguments: Store.files)
    func misplaced(store: Store) async throws {
        try await withPlace { place in
            let (one, two): (StorageKey<String>, StorageKey<String>) = (store.key("one"), store.key("two"))
            let storage = try await place.open {
                one
                two
            }
            try await storage.set("first", for: one)
            try await storage.set("second", for: two)
            let (file, other) = (
                try file(store, place: place, name: "one"), try self.file(store, place: place, name: "two")
            )
            let manager = FileManager.default
            try manager.removeItem(at: file)
            try manager.copyItem(at: other, to: file)
            await expectFailure(.corrupted, comment: "moved") { _ = try await storage.get(one) }
            try manager.removeItem(at: file)
            try manager.createSymbolicLink(at: file, withDestinationURL: other)
            await expectFailure(.corrupted, comment: "link") { _ = try await storage.get(one) }
            try manager.removeItem(at: file)
            try manager.linkItem(at: other, to: file)
            await expectFailure(.corrupted, comment: "second name") { _ = try await storage.get(one) }
            try manager.removeItem(at: file)
            try manager.createDirectory(at: file, withIntermediateDirectories: false)
            await expectFailure(.corrupted, comment: "folder") { _ = try await storage.get(one) }
        }
    }

    @Test(
        "A file or folder of another user is not read", .enabled(if: geteuid() == 0, "it takes root"),
        arguments: Store.files)
    func foreign(store: Store) async throws {
        try await withPlace { place in
            let key: StorageKey<String> = store.key("one")
            let storage = try await place.open { key }
            try await storage.set("first", for: key)
            let file = try file(store, place: place, name: "one")
            try FileManager.default.setAttributes([.ownerAccountID: 65_534], ofItemAtPath: file.path)
            await expectFailure(.corrupted) { _ = try await storage.get(key) }
            try FileManager.default.setAttributes([.ownerAccountID: 0], ofItemAtPath: file.path)
            let folder = try place.filesFolder().path
            try FileManager.default.setAttributes([.ownerAccountID: 65_534], ofItemAtPath: folder)
            await expectFailure(.permissionDenied) { _ = try await storage.get(key) }
            await expectFailure(.permissionDenied) { try await storage.set("x", for: key) }
            try FileManager.default.setAttributes([.ownerAccountID: 0], ofItemAtPath: folder)
            #expect(try await storage.get(key) == "first")
        }
    }

    @Test("A torn sealed file is an error and is not overwritten")
    func tornSealedFile() async throws {
        try await withPlace { place in
            let (one, two): (StorageKey<String>, StorageKey<String>) = (
                Store.keychain.key("one"), Store.keychain.key("two")
            )
            let storage = try await place.open {
                one
                two
            }
            try await storage.set("first", for: one)
            try await storage.set("second", for: two)
            let file = place.folder.child("sealed")
            let bytes = try Data(contentsOf: file)
            for count in 0..<bytes.count {
                try bytes.prefix(count).write(to: file)
                for key in [one, two] {
                    do {
                        // Items before the cut are whole.
                        #expect(["first", "second"].contains(try await storage.get(key)))
                    } catch let error as SettingsError {
                        #expect(error.code == .corrupted, "\(count) bytes: \(error)")
                    }
                }
                if count < 60 {
                    await expectFailure(.corrupted) { try await storage.set("x", for: one) }
                    #expect(try Data(contentsOf: file) == bytes.prefix(count))
                }
            }
            // A damaged item is written back unchanged when another item changes.
            var damaged = bytes
            damaged[damaged.count - 1] ^= 1
            try damaged.write(to: file)
            await expectFailure(.corrupted) { _ = try await storage.get(two) }
            try await storage.set("third", for: one)
            await expectFailure(.corrupted) { _ = try await storage.get(two) }
            #expect(try Data(contentsOf: file).suffix(100) == damaged.suffix(100))
            try await storage.set("mended", for: two)
            #expect(try await storage.get(two) == "mended")
        }
    }

    @Test(
        "A missing folder is an error until the app adopts it as new",
        arguments: Store.files)
    func absentFolder(store: Store) async throws {
        try await withPlace { place in
            let key: StorageKey<Int> = store.key("key", default: 1)
            var storage = try await place.open { key }
            try await storage.set(5, for: key)
            let (folder, aside) = (try place.filesFolder(), place.folder.child("aside"))
            try FileManager.default.moveItem(at: folder, to: aside)
            await expectFailure(.folderAbsent) { _ = try await storage.get(key) }
            storage = try await place.open { key }
            await expectFailure(.folderAbsent) { _ = try await storage.get(key) }
            await expectFailure(.folderAbsent) { try await storage.set(6, for: key) }
            #expect(try await storage.audit().unreadablePlaces.values.sorted() == ["folderAbsent"])
            try FileManager.default.moveItem(at: aside, to: folder)
            #expect(try await storage.get(key) == 5)
            try FileManager.default.removeItem(at: folder)
            try await storage.adoptFolders()
            #expect(try await storage.get(key) == 1)
        }
    }

    @Test("Opening removes unfinished files and keeps other files")
    func sweep() async throws {
        try await withPlace { place in
            let key: StorageKey<Int> = Store.file.key("key", default: 1)
            try await place.open { key }.set(1, for: key)
            let folder = try place.filesFolder()
            let left = folder.child(".key.setting.0192.unfinished")
            try Data([1]).write(to: left)
            try Data([1]).write(to: folder.child("own.txt"))
            _ = try await place.open { key }
            #expect(!FileManager.default.fileExists(atPath: left.path))
            #expect(FileManager.default.fileExists(atPath: folder.child("own.txt").path))
        }
    }

    @Test("Checking whether a value exists does not require that it is readable", arguments: Store.kept)
    func exists(store: Store) async throws {
        try await withPlace { place in
            let key: StorageKey<Int> = store.key("key")
            let storage = try await place.open { key }
            try await storage.set(1, for: key)
            switch store {
            case .file, .encryptedFile:
                let file = try place.filesFolder().child("key.setting")
                try Data([1, 2, 3]).write(to: file)
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
            case .keychain:
                var bytes = try Data(contentsOf: place.folder.child("sealed"))
                // The sentinel's item comes before or after the key's item, so one byte of each is changed.
                bytes[bytes.count - 1] ^= 1
                bytes[bytes.count - 200] ^= 1
                try bytes.write(to: place.folder.child("sealed"))
                try FileManager.default.setAttributes(
                    [.posixPermissions: 0o600], ofItemAtPath: place.folder.child("sealed").path)
            default: try await place.execute("UPDATE lfs_setting SET value = x'00'")
            }
            await #expect(throws: SettingsError.self) { _ = try await storage.get(key) }
            #expect(try await storage.exists(key))
        }
    }

    @Test(
        "A full disk is a distinct error that keeps the value and allows removals",
        .enabled(if: Machine.canMount, "needs root to mount"))
    func fullDisk() async throws {
        try await withSmallFileSystem(kilobytes: 400) { disk in
            try await withPlace { place in
                let key = StorageKey<Data>(
                    "key", domain: .file(in: .folder(disk.child("settings").path)), serializer: .data)
                let storage = try await place.open { key }
                try await storage.set(Data([1]), for: key)
                await expectFailure(.noSpace) { try await storage.set(Data(count: 1 << 20), for: key) }
                #expect(try await storage.get(key) == Data([1]))
                let folder = disk.child("settings")
                let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
                #expect(paths.filter { $0.hasSuffix(".unfinished") } == [])
                try await storage.remove(key)
                #expect(try await storage.getIfPresent(key) == nil)
            }
        }
    }
}

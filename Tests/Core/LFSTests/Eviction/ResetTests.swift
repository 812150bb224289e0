import Foundation
import GRDB
import LFSFiles
import LFSStorage
import LFSSystem
import LFSTesting
import Testing

@testable import LFS

@Suite("Resetting this device", .timeLimit(.minutes(10)))
struct ResetTests {
    private func opened(_ host: TestHost, running: Bool = true) async throws -> LFSManager {
        let lfs = try await LFSManager.open(host.database, options: host.options)
        if running { try lfs.start() }
        return lfs
    }

    /// Returns everything in the host's store except the marker, the locks and the empty folders.
    private func leftovers(_ host: TestHost) throws -> Set<String> {
        let all = try #require(FileManager.default.enumerator(atPath: host.store.path)?.allObjects as? [String])
        let fixed = ["lfs.json", "attached.lock", "uploader.lock", "temporary", "incoming", "quarantine", "spare"]
        return Set(all).subtracting(fixed)
    }

    @Test("A reset removes rows, copies, drafts and downloads, and keeps objects")
    func everything() async throws {
        try await withHost { host in
            let storage = try #require(host.storage as? InMemoryStorage)
            let canary = host.folder.appendingPathComponent("canary.txt")
            try Data("mine".utf8).write(to: canary)
            let lfs = try await opened(host)
            let files = try await keptFiles(3, host: host, lfs: lfs)
            try await host.database.write { db in try Recipe(title: "a", photoId: files[0].id).insert(db) }
            _ = try await lfs.makeFile(from: .bytes(someBytes()))
            try host.leavePartial(of: files[2], someBytes(10), tag: "a")
            try await lfs.pin([files[1].id])
            try await #expect(lfs.filesLostByReset() == 0)
            try await lfs.reset(.everythingIsUploaded)
            try #expect(leftovers(host) == [])
            for table in ["lfs_file", "lfs_job", "lfs_copy", "lfs_tombstone", "lfs_disowned"] {
                try #expect(host.count(table) == 0, "\(table)")
            }
            try #expect(host.count("recipe WHERE photoId IS NULL") == 1, "the foreign key says SET NULL")
            #expect(try String(contentsOf: canary, encoding: .utf8) == "mine")
            #expect(await errorCode { _ = try await lfs.makeFile(from: .bytes([1])) } == .notRunning)
            // The next manager does not delete the objects on the storage either.
            try await withManager(host) { next in
                try await next.waitForDeletions()
                for file in files { #expect(storage.bytes(of: try ObjectKey(file.key)) != nil) }
                let file = try await keptFiles(1, host: host, lfs: next)[0]
                try await #expect(next.hasLocalCopy(of: file.id))
            }
        }
    }

    @Test("A reset that would lose more files than confirmed is refused", arguments: [0, 1])
    func confirmation(_ count: Int) async throws {
        try await withHost(storage: GatedStorage(InMemoryStorage())) { host in
            var files: [FileData] = []
            let lfs = try await opened(host, running: false)
            for _ in 0..<2 { files.append(try await lfs.makeFile(from: .bytes(someBytes()))) }
            let made = files
            try await host.database.write { db in for file in made { try file.insert(db) } }
            try await #expect(lfs.filesLostByReset() == 2)
            let code = await errorCode { try await lfs.reset(.loseFilesThatAreNotUploaded(count)) }
            #expect(code == .notUploaded)
            try #expect(host.count("lfs_file") == 2)
            try #expect(host.filesInTemporary().union(host.filesInStore()).count == 2)
            _ = try await lfs.makeFile(from: .bytes(someBytes()))
            try await lfs.reset(.loseFilesThatAreNotUploaded(2 + count))
            try #expect(leftovers(host) == [])
            try #expect(host.count("lfs_file") == 0)
        }
    }

    @Test("A reset is refused if files were added after the confirmation")
    func confirmationInTransaction() async throws {
        try await withHost { host in
            let lfs = try await opened(host, running: false)
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            let reset = Reset(runner: lfs.runner, places: lfs.places, wallClock: { Date() })
            #expect(await errorCode { try await reset.deleteRows(.everythingIsUploaded) { _ in } } == .notUploaded)
            try #expect(host.count("lfs_file") == 1)
            try #expect(host.count("lfs_state WHERE isResetting = 0") == 1)
            try await lfs.stop()
        }
    }

    @Test("A reset keeps or drops pending deletions", arguments: [true, false])
    func pendingDeletions(_ keeps: Bool) async throws {
        try await withHost { host in
            let storage = try #require(host.storage as? InMemoryStorage)
            var files: [FileData] = []
            try await withManager(host) { lfs in files = try await keptFiles(2, host: host, lfs: lfs) }
            let lfs = try await opened(host, running: false)
            _ = try await host.database.write { [files] db in try files[0].delete(db) }
            var confirmation = ResetConfirmation.everythingIsUploaded
            confirmation.pendingDeletions = keeps ? .keep : .drop
            try await lfs.reset(confirmation)
            try #expect(host.count("lfs_tombstone") == (keeps ? 1 : 0))
            try await withManager(host) { next in
                try await next.waitForDeletions()
                try #expect((storage.bytes(of: ObjectKey(files[0].key)) == nil) == keeps)
                #expect(storage.bytes(of: try ObjectKey(files[1].key)) != nil)
            }
        }
    }

    @Test("A reset deletes the app's rows in the same transaction or deletes nothing")
    func alongside() async throws {
        struct Refusal: Error {}
        try await withHost { host in
            try await host.database.write { db in try FileData.deletedWithOwner("recipe", column: "photoId", in: db) }
            let storage = try #require(host.storage as? InMemoryStorage)
            let lfs = try await opened(host)
            let file = try await keptFiles(1, host: host, lfs: lfs)[0]
            try await host.database.write { db in try Recipe(title: "a", photoId: file.id).insert(db) }
            await #expect(throws: Refusal.self) {
                try await lfs.reset(.everythingIsUploaded) { db in
                    try Recipe.deleteAll(db)
                    throw Refusal()
                }
            }
            try #expect(host.count("recipe") == 1)
            try #expect(host.filesInStore() == [file.id])
            let next = try await opened(host, running: false)
            try await next.reset(.everythingIsUploaded) { db in try Recipe.deleteAll(db) }
            try #expect(host.count("recipe") == 0)
            try #expect(leftovers(host) == [])
            try await withManager(host) { last in try await last.waitForDeletions() }
            #expect(storage.bytes(of: try ObjectKey(file.key)) != nil, "the reset deletes no objects")
        }
    }

    @Test("A reset is refused if the database is open elsewhere or its folder was replaced")
    func notAlone() async throws {
        try await withHost { host in
            let lfs = try await opened(host)
            let file = try await keptFiles(1, host: host, lfs: lfs)[0]
            let other = try host.otherDatabase()
            try await withManager(host, on: other, starts: false) { _ in
                #expect(await errorCode { try await lfs.reset(.everythingIsUploaded) } == .openElsewhere)
            }
            try other.close()
            let next = try await opened(host, running: false)
            let aside = host.folder.appendingPathComponent("aside")
            try FileManager.default.moveItem(at: host.store, to: aside)
            try FileManager.default.createDirectory(at: host.store, withIntermediateDirectories: false)
            #expect(await errorCode { try await next.reset(.everythingIsUploaded) } == .wrongStore)
            try #expect(TestHost.files(in: aside) == [file.id])
            try #expect(host.count("lfs_file") == 1)
        }
    }

    /// Creates files in the store as a `MediaCache` does.
    private func fillCache(_ host: TestHost) throws -> CacheFolder {
        let cache = try CacheFolder(at: host.store.appendingPathComponent(CacheFolder.name).path)
        for name in ["cache.sqlite", CacheFolder.fileName(of: FileID.make())] {
            _ = try cache.directory.openOrCreate(name)
        }
        return cache
    }

    private static let emptyCache: Set<String> = ["cache", "cache/cache.lock"]

    @Test("A reset empties the cache, and is refused while the cache is open")
    func cache() async throws {
        try await withHost { host in
            let lfs = try await opened(host)
            _ = try await keptFiles(1, host: host, lfs: lfs)
            let cache = try fillCache(host)
            try cache.lock.lock(.shared)
            #expect(await errorCode { try await lfs.reset(.everythingIsUploaded) } == .openElsewhere)
            try #expect(host.count("lfs_file") == 1)
            try #expect(leftovers(host).count == 5)
            try cache.lock.unlock()
            let next = try await opened(host, running: false)
            try await next.reset(.everythingIsUploaded)
            try #expect(host.count("lfs_file") == 0)
            try #expect(leftovers(host) == Self.emptyCache)
            try #expect(cache.lock.tryLock(.exclusive), "a cache can be opened again")
        }
    }

    @Test("An open after an interrupted reset empties the cache, unless it is in use")
    func cacheAfterCrash() async throws {
        try await withHost { host in
            let lfs = try await opened(host, running: false)
            try await lfs.stop()
            let cache = try fillCache(host)
            try await Reset(runner: lfs.runner, places: lfs.places, wallClock: { Date() })
                .deleteRows(.everythingIsUploaded) { _ in }
            try await withManager(host) { _ in try #expect(leftovers(host) == Self.emptyCache) }
            try await Reset(runner: lfs.runner, places: lfs.places, wallClock: { Date() })
                .deleteRows(.everythingIsUploaded) { _ in }
            _ = try fillCache(host)
            // A process that opens the cache now finds the noted reset and starts empty.
            try cache.lock.lock(.shared)
            try await withManager(host) { _ in try #expect(leftovers(host).count == 4) }
            try cache.lock.unlock()
        }
    }

    @Test("A reset that a crash interrupted is completed by the next open")
    func crash() async throws {
        try await withHost { host in
            let storage = try #require(host.storage as? InMemoryStorage)
            let lfs = try await opened(host)
            let files = try await keptFiles(2, host: host, lfs: lfs)
            try await lfs.stop()
            try await Reset(runner: lfs.runner, places: lfs.places, wallClock: { Date() })
                .deleteRows(.everythingIsUploaded) { _ in }
            try #expect(host.filesInStore().count == 2)
            try await withManager(host) { next in
                try #expect(leftovers(host) == [])
                try await next.waitForDeletions()
                let file = try await keptFiles(1, host: host, lfs: next)[0]
                try await #expect(next.hasLocalCopy(of: file.id))
            }
            try await withManager(host) { _ in try #expect(host.filesInStore().count == 1) }
            for file in files { #expect(storage.bytes(of: try ObjectKey(file.key)) != nil) }
        }
    }
}

import Foundation
import GRDB
import LFSDatabase
import LFSFiles
import LFSSystem
import TestSupport
import Testing

@testable import LFSCache

@Suite("Identity of a cache", .timeLimit(.minutes(10)))
struct IdentityTests {
    private func store(_ cache: MediaCache) async {
        await cache.store(content(.thumbnail(1)), for: .thumbnail(1))
        await cache.store(content(.preview(1), byteCount: 100_000), for: .preview(1))
    }

    private func count(_ cache: MediaCache) async -> Int {
        var count = 0
        for key in [CacheKey.thumbnail(1), .preview(1)] where await cache.content(for: key) != nil { count += 1 }
        return count
    }

    @Test("A cache starts empty with another database")
    func otherDatabase() async throws {
        try await withHost { host in
            host.options.folder = host.folder.child("media")
            try await host.withCache { cache in
                await store(cache)
                #expect(await count(cache) == 2)
            }
            try await host.withCache { #expect(await count($0) == 2) }
            var other = try CacheHost(host.folder, name: "other.sqlite")
            other.options = host.options
            try await other.withCache { cache in
                #expect(await count(cache) == 0)
                try #expect(other.files() == [])
                #expect(await cache.usage().failures == 0, "that is no failure")
            }
            try await host.withCache { #expect(await count($0) == 0) }
            try #expect(permissions(of: host.folder.child("media")) == 0o700)
        }
    }

    @Test("A cache starts empty after each reset, wherever it is stored", arguments: [true, false])
    func reset(_ isElsewhere: Bool) async throws {
        try await withHost { host in
            if isElsewhere { host.options.folder = host.folder.child("media") }
            for number in 1...3 {
                try await host.withCache { cache in
                    #expect(await count(cache) == 0)
                    await store(cache)
                }
                try await host.resetRows(before: Int64(number))
            }
            try await host.withCache { #expect(await count($0) == 0) }
        }
    }

    @Test("A cache starts empty with an older copy of the database that was reset again")
    func restored() async throws {
        try await withHost { host in
            host.options.folder = host.folder.child("media")
            let copy = host.folder.child("copy.sqlite")
            try FileManager.default.copyItem(at: host.folder.child("app.sqlite"), to: copy)
            try await host.resetRows(before: 1)
            try await host.withCache { await store($0) }
            var restored = try CacheHost(host.folder, name: "copy.sqlite")
            restored.options = host.options
            try await restored.resetRows(before: 2)
            try await restored.withCache { #expect(await count($0) == 0) }
        }
    }

    @Test("Opening a cache without the tables of LFS or its folder fails with a clear error")
    func unknown() async throws {
        try await withTemporaryFolder { folder in
            let database = try DatabaseQueue(path: folder.child("app.sqlite").path)
            #expect(await code { _ = try await MediaCache.open(for: database) } == .notMigrated)
            try #expect(names(in: folder).contains("app.sqlite.lfs") == false)
            let inMemory = try DatabaseQueue()
            var migrator = DatabaseMigrator()
            Schema.register(in: &migrator)
            try migrator.migrate(inMemory)
            #expect(await code { _ = try await MediaCache.open(for: inMemory) } == .notMigrated)
            let cache = try await MediaCache.open(for: inMemory, options: CacheOptions(folder: folder.child("x")))
            await cache.close()
            let absent = CacheOptions(folder: folder.child("absent").child("x"))
            #expect(await code { _ = try await MediaCache.open(for: inMemory, options: absent) } == .wrongFolder)
        }
    }

    // MARK: Several users of one cache

    @Test("Two open caches share their entries, and removals reach the disk of both")
    func shared() async throws {
        try await withHost { host in
            let (first, second) = (try await host.open(), try await host.open())
            await store(first)
            #expect(await count(second) == 2)
            try await second.invalidate(.asset("1"))
            try await first.removeAll()
            second.dropMemory()
            #expect(await count(second) == 0)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for cache in [first, second] {
                    group.addTask {
                        for number in 0..<150 {
                            let (key, size) = (CacheKey.thumbnail(number % 40), number % 5 == 0 ? 70_000 : 900)
                            await cache.store(content(key, version: number, byteCount: size), for: key)
                            if number % 7 == 0 { cache.dropMemory() }
                            let found = await cache.content(for: .thumbnail(number % 13))
                            #expect(found == nil || found?.starts(with: "thumbnails/t\(number % 13)#".utf8) == true)
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(await first.usage().failures == 0)
            #expect(await second.usage().failures == 0)
            #expect(await first.usage().damagedEntries + second.usage().damagedEntries == 0)
            await first.close()
            await second.close()
        }
    }

    @Test("An open cache is not cleaned up, and another database or a reset cannot open it")
    func inUse() async throws {
        try await withHost { host in
            host.options.folder = host.folder.child("media")
            let cache = try await host.open()
            await store(cache)
            let orphan = host.cache.child(FileID.make().text + ".cached")
            try Data([1]).write(to: orphan)
            try await host.withCache { #expect(await count($0) == 2) }
            #expect(FileManager.default.fileExists(atPath: orphan.path))
            var other = try CacheHost(host.folder, name: "other.sqlite")
            other.options = host.options
            #expect(await code { _ = try await other.open() } == .inUse)
            try await host.resetRows()
            #expect(await code { _ = try await host.open() } == .inUse)
            cache.dropMemory()
            #expect(await count(cache) == 2)
            await cache.close()
            try await host.withCache { #expect(await count($0) == 0) }
            #expect(!FileManager.default.fileExists(atPath: orphan.path))
        }
    }

    @Test("A damaged cache that is shared is replaced when only one process has it open")
    func damagedInUse() async throws {
        try await withHost { host in
            let (first, second) = (try await host.open(), try await host.open())
            await store(first)
            let database = try DatabaseQueue(path: host.databaseFile.path)
            try await database.write { db in try db.execute(sql: "DROP TABLE entry") }
            try database.close()
            first.dropMemory()
            let found = try await first.content(for: .thumbnail(1)) { content(.thumbnail(1), version: 2) }
            #expect(found == content(.thumbnail(1), version: 2))
            #expect(await code { try await first.invalidate(.asset("1")) } == .notRemoved)
            await first.close()
            // The only user of the cache can replace it.
            second.dropMemory()
            try await second.invalidate(.asset("1"))
            await store(second)
            second.dropMemory()
            #expect(await count(second) == 2)
            await second.close()
            try #expect(!names(in: host.cache).contains("cache.damaged"))
        }
    }

    @Test("A cache that is marked as damaged starts empty")
    func damageNote() async throws {
        try await withHost { host in
            try await host.withCache { await store($0) }
            try Data().write(to: host.cache.child("cache.damaged"))
            try await host.withCache { cache in
                #expect(await count(cache) == 0)
                try #expect(host.files() == [])
                try #expect(!names(in: host.cache).contains("cache.damaged"))
            }
        }
    }

    // MARK: Removals of a reset

    @Test("A reset that was killed at any step is completed, and the cache is empty", arguments: 0..<6)
    func killedReset(_ steps: Int) async throws {
        try await withHost { host in
            try await host.withCache { await store($0) }
            try await host.resetRows()
            // The order of `CacheFolder.removeEverything`.
            let order =
                ["cache.sqlite", "cache.sqlite-wal", "cache.sqlite-shm"] + (try host.files().map(\.lastPathComponent))
            try Data([1]).write(to: host.cache.child("cache.sqlite-wal"))
            for name in order.prefix(steps) { _ = try Directory.open(host.cache.path).remove(name) }
            let id = try await host.database.read { db in try DatabaseIdentity(db).databaseID.text }
            if steps % 2 == 0 { try await host.withCache { #expect(await count($0) == 0) } }
            let local = try LocalStore(at: host.cache.deletingLastPathComponent().path, databaseID: id)
            try local.removeEverything(cache: local.holdCache()) { _ in true }
            try #expect(names(in: host.cache) == ["cache.lock"])
            try await host.withCache { cache in
                #expect(await count(cache) == 0)
                await store(cache)
                #expect(await count(cache) == 2)
            }
        }
    }
}

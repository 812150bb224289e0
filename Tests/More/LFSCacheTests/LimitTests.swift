import Foundation
import GRDB
import TestSupport
import Testing

@testable import LFSCache

@Suite("Disk limits", .timeLimit(.minutes(10)))
struct LimitTests {
    @Test("Each kind of entry has its default limit")
    func defaults() {
        let limits = CacheOptions().limits
        #expect([.thumbnails, .previews, .albumCovers].map { limits[$0]?.count } == [10_000, 350, 200])
        #expect(CacheLimit(count: -1, byteCount: -1) == CacheLimit(count: 0, byteCount: 0))
        #expect([0, 1, 2, 10, 11, 19, 10_000].map { CacheLimit(count: $0).floor.count } == [0, 1, 1, 9, 9, 17, 9_000])
    }

    @Test("The limits of each kind hold at every step, and eviction frees a tenth")
    func everyStep() async throws {
        try await withHost { host in
            host.options.limits = [
                .thumbnails: CacheLimit(count: 40), .previews: CacheLimit(count: 1_000, byteCount: 30_000),
                .albumCovers: CacheLimit(count: 1),
            ]
            let limits = host.options.limits
            try await host.withCache { cache in
                var before: [CacheKind: CacheUsage.Amount] = [:]
                for step in 0..<300 {
                    let kind = [CacheKind.thumbnails, .previews, .albumCovers][step % 3]
                    let key = CacheKey(kind, name: "\(step)")
                    await cache.store(content(key, byteCount: 500 + step), for: key, tags: [.asset("\(step)")])
                    let usage = await cache.usage()
                    for (kind, limit) in limits {
                        let disk = usage.kinds[kind]?.disk ?? .init()
                        #expect(limit.holds(count: disk.count, byteCount: disk.byteCount))
                        if disk.count < before[kind]?.count ?? 0 {
                            #expect(limit.floor.holds(count: disk.count, byteCount: disk.byteCount))
                        }
                        before[kind] = disk
                    }
                    #expect(usage.failures == 0)
                }
                // No kind has evicted entries of another kind, and the newest entry of each is kept.
                #expect((36...40).contains(before[.thumbnails]?.count ?? 0))
                #expect(before[.albumCovers]?.count == 1)
                cache.dropMemory()
                for step in 297..<300 {
                    let kind = [CacheKind.thumbnails, .previews, .albumCovers][step % 3]
                    #expect(await cache.content(for: CacheKey(kind, name: "\(step)")) != nil)
                }
                try await expectRightTotals(cache, host: host)
            }
        }
    }

    @Test("The least recently used entries are evicted, and uses in memory count")
    func order() async throws {
        try await withHost { host in
            host.options.limits[.thumbnails] = CacheLimit(count: 10)
            try await host.withCache { cache in
                for number in 0..<10 { await cache.store(content(.thumbnail(number)), for: .thumbnail(number)) }
                for number in [0, 3, 1] { #expect(await cache.content(for: .thumbnail(number)) != nil) }
                await cache.store(content(.thumbnail(10)), for: .thumbnail(10))
                cache.dropMemory()
                for (number, isThere) in [(0, true), (1, true), (3, true), (2, false), (4, false), (5, true)] {
                    #expect(await (cache.content(for: .thumbnail(number)) != nil) == isThere, "\(number)")
                }
            }
        }
    }

    @Test("The order of uses survives closing, even for entries that left memory")
    func orderOverClose() async throws {
        try await withHost { host in
            host.options.limits[.thumbnails] = CacheLimit(count: 10)
            host.options.memoryLimits[.thumbnails] = CacheLimit(count: 2)
            try await host.withCache { cache in
                for number in 0..<10 { await cache.store(content(.thumbnail(number)), for: .thumbnail(number)) }
                for number in [0, 2, 4, 6, 8] { #expect(await cache.content(for: .thumbnail(number)) != nil) }
            }
            host.options.memoryLimits[.thumbnails] = CacheLimit(count: 0)
            try await host.withCache { cache in
                #expect(await cache.content(for: .thumbnail(1)) != nil)
                for number in 10..<14 { await cache.store(content(.thumbnail(number)), for: .thumbnail(number)) }
                for (number, isThere) in [(0, true), (1, true), (3, false), (5, false), (7, false), (13, true)] {
                    #expect(await (cache.content(for: .thumbnail(number)) != nil) == isThere, "\(number)")
                }
            }
        }
    }

    @Test("Eviction from the disk also evicts from memory")
    func evictedLeavesMemory() async throws {
        try await withHost { host in
            try await host.withCache { cache in
                for number in 0..<20 { await cache.store(content(.thumbnail(number)), for: .thumbnail(number)) }
                #expect(await cache.usage().kinds[.thumbnails]?.memory.count == 20)
                // Only the disk shrinks, because a limit in memory would evict automatically.
                cache.memory.remove(
                    await cache.disk.shrink(.thumbnails, to: CacheLimit(count: 10)) {
                        cache.memory.takeUses(.thumbnails)
                    })
                #expect(await cache.usage().kinds[.thumbnails]?.memory.count == 9)
                for number in 0..<11 { #expect(await cache.content(for: .thumbnail(number)) == nil) }
            }
        }
    }

    @Test("A changed limit applies at once")
    func change() async throws {
        try await withHost { host in
            try await host.withCache { cache in
                for number in 0..<100 {
                    await cache.store(content(.thumbnail(number)), for: .thumbnail(number), tags: [.asset("\(number)")])
                }
                for count in [50, 7, 0] {
                    await cache.setLimit(CacheLimit(count: count), of: .thumbnails)
                    let usage = await cache.usage().kinds[.thumbnails] ?? .init()
                    #expect(usage.disk.count == CacheLimit(count: count).floor.count)
                    #expect(usage.memory.count <= usage.disk.count)
                }
                let found = try await cache.content(for: .thumbnail(1)) { content(.thumbnail(1)) }
                #expect(found == content(.thumbnail(1)))
                #expect(await cache.content(for: .thumbnail(1)) == nil)
                await cache.setLimit(CacheLimit(count: 5), of: .thumbnails)
                for number in 0..<5 { await cache.store(content(.thumbnail(number)), for: .thumbnail(number)) }
                #expect(await cache.usage().kinds[.thumbnails]?.disk.count == 5)
                try await expectRightTotals(cache, host: host)
            }
        }
    }

    @Test("An entry above a tenth of the byte limit is not kept")
    func tenth() async throws {
        try await withHost { host in
            host.options.limits[.previews] = CacheLimit(count: 100, byteCount: 1_000_000)
            try await host.withCache { cache in
                for (number, size) in [(1, 100_000), (2, 100_001)] {
                    await cache.store(content(.preview(number), byteCount: size), for: .preview(number))
                }
                cache.dropMemory()
                #expect(await cache.content(for: .preview(1)) != nil)
                #expect(await cache.content(for: .preview(2)) == nil)
                try #expect(host.files().count == 1)
            }
        }
    }

    #if os(Linux)
    @Test("The memory limit bounds ten thousand entries of ten kilobytes")
    func memoryBound() async throws {
        // The memory of a process includes all its tests.
        await #expect(processExitsWith: .success) {
            let limit = CacheLimit(count: 10_000, byteCount: 8 << 20)
            let memory = MemoryLayer([.thumbnails: limit], standard: limit)
            let before = try memoryInUse()
            for number in 0..<10_000 {
                memory.insert(
                    content(.thumbnail(number), byteCount: 10_000), key: .thumbnail(number),
                    tags: [.asset("\(number)")],
                    isUse: false)
            }
            let held = try #require(memory.usage()[.thumbnails])
            #expect(held.byteCount <= limit.byteCount && held.count > 700)
            let used = try memoryInUse() - before
            #expect(used < 2 * limit.byteCount, "\(used)")
        }
    }
    #endif

    /// Compares the totals that the triggers maintain with a count of the rows.
    private func expectRightTotals(_ cache: MediaCache, host: CacheHost) async throws {
        var readonly = Configuration()
        readonly.readonly = true
        let database = try DatabaseQueue(path: host.databaseFile.path, configuration: readonly)
        let (counted, kept, tags) = try database.read { db in
            (
                try Row.fetchAll(
                    db, sql: "SELECT kind, count(*), sum(byteCount) FROM entry GROUP BY kind ORDER BY kind"),
                try Row.fetchAll(db, sql: "SELECT kind, count, byteCount FROM total WHERE count <> 0 ORDER BY kind"),
                try Int.fetchOne(db, sql: "SELECT count(*) FROM tag WHERE entryID NOT IN (SELECT id FROM entry)")
            )
        }
        #expect(counted.map { Array($0.databaseValues) } == kept.map { Array($0.databaseValues) })
        #expect(tags == 0)
        try database.close()
    }
}

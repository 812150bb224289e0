import Foundation
import LFSSystem
import TestSupport
import Testing

@testable import LFSCache

@Suite("Full disks", .timeLimit(.minutes(10)))
struct FullDiskTests {
    @Test(
        "A full disk breaks no read and no removal", .enabled(if: Machine.canMount, "needs root to mount"),
        arguments: [400, 1_200, 100_000])
    func full(_ byteCount: Int) async throws {
        try await withHost { host in
            let host = host
            try await withSmallFileSystem(kilobytes: 700) { disk in
                var host = host
                host.options.folder = disk.child("cache")
                host.options.memoryLimits = [:]
                host.options.standardMemoryLimit = CacheLimit(count: 0)
                try await host.withCache { cache in
                    for number in 0..<2_000 {
                        let key = CacheKey.thumbnail(number)
                        let expected = content(key, byteCount: byteCount)
                        let found = try await cache.content(for: key, tags: [.asset("\(number % 10)")]) { expected }
                        #expect(found == expected)
                        if number > 50, await cache.usage().failures > 3 { break }
                    }
                    let usage = await cache.usage()
                    #expect(usage.failures > 3 && usage.lastFailure != nil && usage.damagedEntries == 0)
                    // The old content does not come back, although the new content does not fit.
                    let kept = CacheKey.thumbnail(0)
                    await cache.store(content(kept, version: 2, byteCount: byteCount), for: kept, tags: [.asset("0")])
                    if let found = await cache.content(for: kept) {
                        #expect(found == content(kept, version: 2, byteCount: byteCount))
                    }
                    for tag in 0..<10 { try await cache.invalidate(.asset("\(tag)")) }
                    for number in 0..<2_000 where await cache.content(for: .thumbnail(number)) != nil {
                        Issue.record("\(number) is still there")
                    }
                    await cache.store(content(kept, byteCount: 1_000), for: kept)
                    #expect(await cache.content(for: kept) != nil, "there is room again")
                }
            }
        }
    }

    @Test("A cache on a full disk opens and loads everything", .enabled(if: Machine.canMount, "needs root to mount"))
    func opening() async throws {
        try await withHost { host in
            let host = host
            try await withSmallFileSystem(kilobytes: 64) { disk in
                var host = host
                host.options.folder = disk.child("cache")
                let filler = disk.child("filler")
                _ = try? Data(count: 62 << 10).write(to: filler)
                try await host.withCache { cache in
                    let key = CacheKey.thumbnail(1)
                    for _ in 0..<3 {
                        try await #expect(cache.content(for: key, tags: [.asset("1")]) { content(key) } == content(key))
                    }
                    #expect(await cache.usage().failures > 0)
                    try await cache.invalidate(.asset("1"))
                    #expect(await cache.content(for: key) == nil)
                }
            }
        }
    }
}

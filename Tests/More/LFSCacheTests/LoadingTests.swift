import Foundation
import LFSSystem
import TestSupport
import Testing

@testable import LFSCache

@Suite("Loads through the cache", .timeLimit(.minutes(10)))
struct LoadingTests {
    private let key = CacheKey.thumbnail(1)

    @Test("A hundred concurrent requests for a key cause one load")
    func together() async throws {
        try await withHost { host in
            try await host.withCache { cache in
                let loads = EventLog<Int>()
                let (gate, key) = (Latch(), key)
                try await withThrowingTaskGroup(of: Data.self) { group in
                    for _ in 0..<100 {
                        group.addTask {
                            try await cache.content(for: key, tags: [.asset("1")]) {
                                loads.add(1)
                                await gate.wait()
                                return content(key)
                            }
                        }
                    }
                    try await yield(while: cache.flights.waitingCount(key) < 99)
                    gate.open()
                    for try await found in group { #expect(found == content(key)) }
                }
                #expect(loads.events.count == 1)
                #expect(await cache.content(for: key) == content(key))
                let usage = await cache.usage()
                #expect(usage.loads == 1)
            }
        }
    }

    @Test("Loads of two keys do not wait for each other")
    func apart() async throws {
        try await withHost { host in
            try await host.withCache { cache in
                let (first, second) = (CacheKey.thumbnail(1), CacheKey(.previews, name: "t1"))
                _ = try await cache.content(for: first) {
                    let other = try await cache.content(for: second) { content(second) }
                    #expect(other == content(second))
                    return content(first)
                }
            }
        }
    }

    @Test(
        "A loaded entry is not loaded again, even after reopening the cache", arguments: [10, 200_000])
    func again(_ byteCount: Int) async throws {
        try await withHost { host in
            let key = CacheKey.preview(1)
            let expected = content(key, byteCount: byteCount)
            try await host.withCache { cache in
                #expect(await cache.content(for: key) == nil)
                try await #expect(cache.content(for: key) { expected } == expected)
                try await #expect(cache.content(for: key, load: noLoad) == expected)
                cache.dropMemory()
                try await #expect(cache.content(for: key, load: noLoad) == expected)
                let usage = await cache.usage()
                #expect(usage.diskHits == 1 && usage.memoryHits == 1 && usage.loads == 1 && usage.failures == 0)
                #expect(usage.kinds[.previews]?.disk == .init(count: 1, byteCount: expected.count))
            }
            try #expect(host.files().count == (byteCount > CacheStore.largestRow ? 1 : 0))
            try await host.withCache { cache in
                #expect(await cache.content(for: key) == expected)
                #expect(await cache.content(for: CacheKey(.thumbnails, name: key.name)) == nil)
            }
        }
    }

    @Test("A load continues in a waiting task when its own task is cancelled")
    func leaderCancelled() async throws {
        try await withHost { host in
            try await host.withCache { cache in
                let (begun, second, key) = (Latch(), Latch(), key)
                let leader = Task {
                    try await cache.content(for: key) {
                        begun.open()
                        await Latch().wait()
                        throw CancellationError()
                    }
                }
                await begun.wait()
                async let first = cache.content(for: key) {
                    await second.wait()
                    return content(key)
                }
                try await yield(while: cache.flights.waitingCount(key) < 1)
                async let last = cache.content(for: key, load: noLoad)
                try await yield(while: cache.flights.waitingCount(key) < 2)
                leader.cancel()
                await #expect(throws: CancellationError.self) { try await leader.value }
                #expect(cache.flights.waitingCount(key) == 1)
                second.open()
                try await #expect(first == content(key))
                try await #expect(last == content(key))
            }
        }
    }

    @Test("A failed load fails for all its waiters, and a later request loads again")
    func failure() async throws {
        try await withHost { host in
            try await host.withCache { cache in
                let (gate, key) = (Latch(), key)
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for _ in 0..<10 {
                        group.addTask {
                            do {
                                _ = try await cache.content(for: key) {
                                    await gate.wait()
                                    throw LoadFailed()
                                }
                                return false
                            } catch is LoadFailed {
                                return true
                            }
                        }
                    }
                    try await yield(while: cache.flights.waitingCount(key) < 9)
                    gate.open()
                    for try await isFailed in group { #expect(isFailed) }
                }
                try await #expect(cache.content(for: key) { content(key) } == content(key))
            }
        }
    }

    @Test("A load continues when one of its waiters is cancelled")
    func followerCancelled() async throws {
        try await withHost { host in
            try await host.withCache { cache in
                let (begun, gate, key) = (Latch(), Latch(), key)
                async let leader = cache.content(for: key) {
                    begun.open()
                    await gate.wait()
                    return content(key)
                }
                await begun.wait()
                let follower = Task { try await cache.content(for: key, load: noLoad) }
                try await yield(while: cache.flights.waitingCount(key) < 1)
                follower.cancel()
                await #expect(throws: CancellationError.self) { try await follower.value }
                gate.open()
                try await #expect(leader == content(key))
            }
        }
    }

    @Test("A loaded entry gets the tags of all its requests")
    func tagsOfAll() async throws {
        try await withHost { host in
            try await host.withCache { cache in
                let (begun, gate, key) = (Latch(), Latch(), key)
                async let leader = cache.content(for: key, tags: [.asset("1")]) {
                    begun.open()
                    await gate.wait()
                    return content(key)
                }
                await begun.wait()
                async let follower = cache.content(for: key, tags: [.album("2")], load: noLoad)
                try await yield(while: cache.flights.waitingCount(key) < 1)
                gate.open()
                _ = try await (leader, follower)
                try await cache.invalidate(.album("2"))
                #expect(await cache.content(for: key) == nil)
            }
        }
    }

    @Test("Entries with odd names and contents are kept apart")
    func oddNames() async throws {
        try await withHost { host in
            let texts = [
                "", "a", "A", "a\u{0}b", "a\u{0}", "../x", "a/b", "é", "%", "'", String(repeating: "x", count: 5_000),
            ]
            let keys = texts.flatMap { [CacheKey(.thumbnails, name: $0), CacheKey(CacheKind($0), name: "a")] }
            try await host.withCache { cache in
                for key in keys {
                    await cache.store(content(key, byteCount: 9_000), for: key, tags: [.asset(key.name)])
                }
                await cache.store(Data(), for: .preview(1))
            }
            try await host.withCache { cache in
                for key in keys { #expect(await cache.content(for: key) == content(key, byteCount: 9_000), "\(key)") }
                cache.dropMemory()
                #expect(await cache.content(for: CacheKey(.thumbnails, name: "e\u{301}")) != nil, "the same text")
                #expect(await cache.content(for: .preview(1)) == Data())
                try await cache.invalidate(.asset("a\u{0}"))
                #expect(await cache.content(for: CacheKey(.thumbnails, name: "a\u{0}")) == nil)
                #expect(await cache.content(for: CacheKey(.thumbnails, name: "a\u{0}b")) != nil)
            }
            try #expect(names(in: host.folder.child("app.sqlite.lfs")) == ["cache"])
        }
    }

    @Test("A closed cache still loads and keeps nothing")
    func closed() async throws {
        try await withHost { host in
            let (cache, key) = (try await host.open(), key)
            let kept = try await cache.content(for: key) {
                await cache.close()
                return content(key)
            }
            #expect(kept == content(key))
            await cache.store(content(key), for: key)
            #expect(await cache.content(for: key) == nil)
            let other = try await cache.content(for: key) { content(key, version: 2) }
            #expect(other == content(key, version: 2))
            #expect(await code { try await cache.removeAll() } == .closed)
            #expect(await cache.usage().failures == 0)
            await cache.close()
            try await host.withCache { #expect(await $0.content(for: key) == nil) }
        }
    }
}

import Foundation
import GRDB
import LFSSystem
import Synchronization
import TestSupport
import Testing

@testable import LFSCache

@Suite("Removal of cache entries", .timeLimit(.minutes(10)))
struct InvalidationTests {
    private static let tags: Set<CacheTag> = [.asset("1"), .album("a")]
    /// The selections that contain `thumbnail(1)` with these tags. Some also contain `preview(2)` with the tag
    /// `album:a`.
    private static let selections: [Selection] = [
        .key(.thumbnail(1)), .tags([.asset("1")]), .tags([.album("a")]), .kind(.thumbnails), .all,
    ]
    /// The selections that do not contain `thumbnail(1)` with these tags.
    private static let others: [Selection] = [
        .key(.thumbnail(2)), .key(CacheKey(.previews, name: "t1")), .tags([.asset("a")]), .tags([.album("1")]),
        .tags([.asset("2"), .album("b")]), .tags([]), .kind(.previews),
    ]

    private func take(_ selection: Selection, from cache: MediaCache) async throws {
        switch selection {
        case .key(let key): try await cache.remove(key)
        case .tags(let tags): try await cache.invalidate(tags)
        case .kind(let kind): try await cache.removeAll(of: kind)
        case .all: try await cache.removeAll()
        }
    }

    @Test(
        "A removal deletes the selected entries from memory and disk, and no others", arguments: 0..<5, [10, 200_000])
    func selection(_ index: Int, byteCount: Int) async throws {
        try await withHost { host in
            try await host.withCache { cache in
                let first = content(.thumbnail(1), byteCount: byteCount)
                for (key, tags) in [
                    (CacheKey.thumbnail(1), Self.tags), (.preview(2), [.album("a")]), (.preview(3), []),
                ] {
                    await cache.store(content(key, byteCount: byteCount), for: key, tags: tags)
                }
                for other in Self.others where !isTaken(.preview(2), tags: [.album("a")], selection: other) {
                    try await take(other, from: cache)
                    #expect(await cache.content(for: .thumbnail(1)) == first, "\(other)")
                }
                await cache.store(content(.preview(3)), for: .preview(3))
                let selection = Self.selections[index]
                try await take(selection, from: cache)
                #expect(await cache.content(for: .thumbnail(1)) == nil)
                cache.dropMemory()
                #expect(await cache.content(for: .thumbnail(1)) == nil)
                let takes = isTaken(.preview(2), tags: [.album("a")], selection: selection)
                #expect(await (cache.content(for: .preview(2)) == nil) == takes)
                if case .all = selection {} else { #expect(await cache.content(for: .preview(3)) != nil) }
            }
            try await host.withCache { #expect(await $0.content(for: .thumbnail(1)) == nil) }
        }
    }

    @Test("A load does not restore an entry that another process removes at the same time", arguments: 0..<5)
    func otherProcess(_ index: Int) async throws {
        try await withHost { host in
            let key = CacheKey.thumbnail(1)
            try await host.withCache { one in
                try await host.withCache { other in
                    let (old, new) = (content(key, version: 1), content(key, version: 2))
                    let selection = Self.selections[index]
                    let given = try await one.content(for: key, tags: Self.tags) {
                        try await take(selection, from: other)
                        return old
                    }
                    #expect(given == old)
                    #expect(await other.content(for: key) == nil)
                    #expect(try await other.content(for: key, tags: Self.tags) { new } == new)
                    one.dropMemory()
                    #expect(await one.content(for: key) == new)
                    // An entry that is loaded afterwards is kept.
                    let next = CacheKey.thumbnail(2)
                    _ = try await one.content(for: next) { content(next) }
                    #expect(await other.content(for: next) == content(next))
                }
            }
        }
    }

    private func isTaken(_ key: CacheKey, tags: Set<CacheTag>, selection: Selection) -> Bool {
        selection.contains(key, tags: tags)
    }

    @Test("Removing large entries removes their files")
    func files() async throws {
        try await withHost { host in
            try await host.withCache { cache in
                for number in 0..<4 {
                    let key = CacheKey.preview(number)
                    await cache.store(content(key, byteCount: 100_000), for: key, tags: [.asset("\(number % 2)")])
                }
                try #expect(host.files().count == 4)
                await cache.store(content(.preview(0), version: 2, byteCount: 100_000), for: .preview(0))
                try #expect(host.files().count == 4)
                try await cache.invalidate(.asset("1"))
                try #expect(host.files().count == 2)
                try await cache.removeAll()
                try #expect(host.files().count == 0)
                #expect(await cache.usage().kinds.isEmpty)
            }
        }
    }

    @Test("Removing the whole cache frees the space of its database and its log")
    func space() async throws {
        try await withHost { host in
            try await host.withCache { cache in
                let stored = 200 * 20_000
                for number in 0..<200 {
                    let key = CacheKey.thumbnail(number)
                    await cache.store(content(key, byteCount: 20_000), for: key, tags: [.asset("\(number)")])
                }
                try #expect(host.files().isEmpty, "small entries are rows")
                try #expect(host.databaseByteCount() >= stored)
                try await cache.removeAll()
                try #expect(host.databaseByteCount() <= stored / 10)
                await cache.store(content(.thumbnail(1)), for: .thumbnail(1))
                cache.dropMemory()
                #expect(await cache.content(for: .thumbnail(1)) == content(.thumbnail(1)))
                #expect(await cache.usage().failures == 0)
            }
        }
    }

    @Test("A removal during a load makes later readers load again", arguments: 0..<5)
    func duringLoad(_ index: Int) async throws {
        try await withHost { host in
            try await host.withCache { cache in
                let (begun, gate, key) = (Latch(), Latch(), CacheKey.thumbnail(1))
                async let old = cache.content(for: key, tags: Self.tags) {
                    begun.open()
                    await gate.wait()
                    return content(key, version: 1)
                }
                await begun.wait()
                async let joined = cache.content(for: key, load: noLoad)
                try await yield(while: cache.flights.waitingCount(key) < 1)
                try await take(Self.selections[index], from: cache)
                #expect(await cache.content(for: key) == nil)
                // The new load ends first or last, and its content is kept in both cases.
                let next = try await cache.content(for: key, tags: Self.tags) { content(key, version: 2) }
                #expect(next == content(key, version: 2))
                gate.open()
                try await #expect(old == content(key, version: 1))
                try await #expect(joined == content(key, version: 1))
                #expect(await cache.content(for: key) == content(key, version: 2))
                cache.dropMemory()
                #expect(await cache.content(for: key) == content(key, version: 2))
            }
        }
    }

    @Test("A removal during a load keeps nothing of the load", arguments: 0..<5)
    func duringLoadAlone(_ index: Int) async throws {
        try await withHost { host in
            try await host.withCache { cache in
                let key = CacheKey.thumbnail(1)
                _ = try await cache.content(for: key, tags: Self.tags) {
                    try await take(Self.selections[index], from: cache)
                    return content(key)
                }
                #expect(await cache.content(for: key) == nil)
            }
            try await host.withCache { #expect(await $0.content(for: .thumbnail(1)) == nil) }
        }
    }

    @Test("A removal of other entries during a load lets the content be kept", arguments: 0..<7)
    func othersDuringLoad(_ index: Int) async throws {
        try await withHost { host in
            try await host.withCache { cache in
                let key = CacheKey.thumbnail(1)
                _ = try await cache.content(for: key, tags: Self.tags) {
                    try await take(Self.others[index], from: cache)
                    return content(key)
                }
                cache.dropMemory()
                #expect(await cache.content(for: key) == content(key))
            }
        }
    }

    @Test("A removal also applies to a load that another task took over")
    func handedOver() async throws {
        try await withHost { host in
            try await host.withCache { cache in
                let (begun, key) = (Latch(), CacheKey.thumbnail(1))
                let leader = Task {
                    try await cache.content(for: key, tags: Self.tags) {
                        begun.open()
                        await Latch().wait()
                        throw CancellationError()
                    }
                }
                await begun.wait()
                async let heir = cache.content(for: key, tags: Self.tags) { content(key, version: 1) }
                try await yield(while: cache.flights.waitingCount(key) < 1)
                try await cache.invalidate(.asset("1"))
                leader.cancel()
                try await #expect(heir == content(key, version: 1))
                #expect(await cache.content(for: key) == nil)
                await #expect(throws: CancellationError.self) { try await leader.value }
            }
        }
    }

    @Test("A store during a load wins over the loaded content")
    func storeDuringLoad() async throws {
        try await withHost { host in
            try await host.withCache { cache in
                let key = CacheKey.thumbnail(1)
                _ = try await cache.content(for: key) {
                    await cache.store(content(key, version: 2), for: key)
                    return content(key, version: 1)
                }
                #expect(await cache.content(for: key) == content(key, version: 2))
                cache.dropMemory()
                #expect(await cache.content(for: key) == content(key, version: 2))
            }
        }
    }

    @Test("A content that is too large for the disk still replaces the old one")
    func tooLarge() async throws {
        try await withHost { host in
            host.options.limits[.thumbnails] = CacheLimit(count: 100, byteCount: 100_000)
            try await host.withCache { cache in
                let key = CacheKey.thumbnail(1)
                await cache.store(content(key, byteCount: 10_000), for: key)
                await cache.store(content(key, version: 2, byteCount: 10_001), for: key)
                cache.dropMemory()
                #expect(await cache.content(for: key) == nil)
                await cache.store(content(key, version: 3, byteCount: 10_000), for: key)
                cache.dropMemory()
                #expect(await cache.content(for: key) == content(key, version: 3, byteCount: 10_000))
            }
        }
    }

    @Test("No old content returns while tasks read, load, store and remove concurrently", arguments: 1...4)
    func model(_ seed: Int) async throws {
        try await withHost { host in
            host.options.memoryLimits[.thumbnails] = CacheLimit(count: 3, byteCount: 1 << 20)
            host.options.limits[.thumbnails] = CacheLimit(count: 6)
            try await host.withCache { cache in
                let sources = Sources(count: 8)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for task in 0..<8 {
                        group.addTask {
                            var generator = SeededGenerator(seed: UInt64(seed * 100 + task))
                            for _ in 0..<400 { try await step(cache, sources: sources, generator: &generator) }
                        }
                    }
                    try await group.waitForAll()
                }
                for number in 0..<8 {
                    if let found = await cache.content(for: .thumbnail(number)) {
                        #expect(sources.version(in: found) == sources.version(number))
                    }
                }
                #expect(await cache.usage().failures == 0)
            }
        }
    }

    /// Performs one step of the model. A step is a change with its removal, or a read. A read must not be older than
    /// the last change whose removal has ended.
    private func step(_ cache: MediaCache, sources: Sources, generator: inout SeededGenerator) async throws {
        let number = Int.random(in: 0..<8, using: &generator)
        let (key, tag) = (CacheKey.thumbnail(number), CacheTag.asset("\(number)"))
        switch Int.random(in: 0..<20, using: &generator) {
        case 0:
            let version = sources.change(number)
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: try await cache.remove(key)
            case 1: try await cache.removeAll()
            default: try await cache.invalidate(tag)
            }
            sources.settle(number, version: version)
        case 1: cache.dropMemory()
        case 2...8:
            let least = sources.settled(number)
            if let found = await cache.content(for: key) {
                #expect(sources.version(in: found) >= least)
            }
        default:
            let least = sources.settled(number)
            let yields = Int.random(in: 0..<4, using: &generator)
            let found = try await cache.content(for: key, tags: [tag]) {
                let version = sources.version(number)
                for _ in 0..<yields { await Task.yield() }
                return Data("\(version)".utf8)
            }
            #expect(sources.version(in: found) >= least)
        }
    }
}

/// The sources that entries are made from.
private final class Sources: Sendable {
    private let versions: Mutex<[(now: Int, settled: Int)]>

    init(count: Int) { versions = Mutex(Array(repeating: (0, 0), count: count)) }

    func change(_ number: Int) -> Int {
        versions.withLock { versions in
            versions[number].now += 1
            return versions[number].now
        }
    }

    func settle(_ number: Int, version: Int) {
        versions.withLock { $0[number].settled = max($0[number].settled, version) }
    }

    func version(_ number: Int) -> Int { versions.withLock { $0[number].now } }
    func settled(_ number: Int) -> Int { versions.withLock { $0[number].settled } }
    func version(in content: Data) -> Int { Int(String(decoding: content, as: UTF8.self)) ?? -1 }
}

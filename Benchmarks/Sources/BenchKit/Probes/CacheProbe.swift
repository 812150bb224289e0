import Foundation
import LFSCache
import Synchronization

/// A probe that compares the cache with a dictionary and with files.
package struct CacheProbe: Sendable {
    /// The folder of database, cache and files.
    package var folder: String
    /// The number of turns of each way.
    package var turns: Int
    /// The number of entries that are stored to measure the size of one.
    package var entries: Int

    /// A text that the name of a measured contest must contain.
    package var only: String

    package init(folder: String, turns: Int, entries: Int, only: String) {
        self.folder = folder
        self.turns = turns
        self.entries = entries
        self.only = only
    }

    package func run() async throws -> ContestSample {
        let host = try HostDatabase(in: folder)
        let thread = BareThread()
        let contests = [
            try await memory(host), try await disk(host, what: "8 KiB, in the database", byteCount: 8_192),
            try await disk(host, what: "8 KiB, in the database", byteCount: 8_192, on: thread),
            try await disk(host, what: "256 KiB, a file", byteCount: 256 << 10),
            try await disk(host, what: "256 KiB, a file", byteCount: 256 << 10, on: thread),
        ]
        return ContestSample(contests: contests.compactMap(\.self), notes: only.isEmpty ? [try await size(host)] : [])
    }

    private func memory(_ host: HostDatabase) async throws -> Contest? {
        let cache = try await MediaCache.open(for: host.pool)
        let keys = (0..<1_000).map { CacheKey(.thumbnails, name: "\($0)") }
        let held = Mutex<[CacheKey: Data]>([:])
        for key in keys {
            let content = Data(repeating: 1, count: 1_024)
            await cache.store(content, for: key)
            held.withLock { $0[key] = content }
        }
        let contest = try await RoundRobin(count: turns, calls: 20_000, only: only).measure(
            "get of 1 KiB in memory",
            ways: [
                ("content", { call in try await found(cache, key: keys[call % 1_000]) }),
                (
                    "dictionary and mutex",
                    { call in
                        guard held.withLock({ $0[keys[call % 1_000]] }) != nil else { throw Self.missing }
                    }
                ),
            ], bar: 2)
        await cache.close()
        return contest
    }

    /// - Parameter thread: the thread that reads the file, as the cache does, or nil for the calling one.
    private func disk(
        _ host: HostDatabase, what: String, byteCount: Int, on thread: BareThread? = nil
    ) async throws -> Contest? {
        var options = CacheOptions()
        options.memoryLimits[.previews] = CacheLimit(count: 0)
        let cache = try await MediaCache.open(for: host.pool, options: options)
        let keys = (0..<100).map { CacheKey(.previews, name: "\(byteCount)/\($0)") }
        let files = BareFile(folder: folder, name: "bare")
        for (number, key) in keys.enumerated() {
            let content = RandomBytes.make(byteCount, seed: UInt64(number))
            await cache.store(content, for: key)
            try content.write(to: URL(fileURLWithPath: "\(folder)/\(byteCount)-\(number)"))
        }
        let contest = try await RoundRobin(count: turns, calls: 500, only: only).measure(
            "get of \(what)" + (thread == nil ? "" : ", by a thread that may wait"),
            ways: [
                ("content", { call in try await found(cache, key: keys[call % 100]) }),
                (
                    thread == nil ? "reading a file" : "reading a file by such a one",
                    { call in
                        let read: @Sendable () throws -> Data = {
                            try files.read("\(byteCount)-\(call % 100)", byteCount: byteCount)
                        }
                        if let thread { _ = try await thread.run(read) } else { _ = try read() }
                    }
                ),
            ], bar: 1.3)
        await cache.close()
        return contest
    }

    private func found(_ cache: MediaCache, key: CacheKey) async throws {
        _ = try await cache.content(for: key) { throw Self.missing }
    }

    /// Returns the disk space of an entry beyond its bytes, as text.
    private func size(_ host: HostDatabase) async throws -> String {
        var options = CacheOptions()
        options.limits[.albumCovers] = CacheLimit(count: entries)
        let place = URL(fileURLWithPath: folder + "/sizes")
        try FileManager.default.createDirectory(
            at: place, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        options.folder = place
        let cache = try await MediaCache.open(for: host.pool, options: options)
        for number in 0..<entries {
            await cache.store(
                RandomBytes.make(1_024, seed: UInt64(number)), for: CacheKey(.albumCovers, name: "\(number)"),
                tags: [.asset("\(number)")])
        }
        let kept = await cache.usage().kinds[.albumCovers]?.disk.count ?? 0
        await cache.close()
        let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/sizes/cache.sqlite")
        let bytes = (attributes[.size] as? Int ?? 0) / max(kept, 1)
        return "\(Format.count(kept)) entries of 1 KiB with a tag: \(Format.count(bytes)) bytes each on the disk."
    }

    private static let missing = BenchError("The cache has lost an entry.")
}

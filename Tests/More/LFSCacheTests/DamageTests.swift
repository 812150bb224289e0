import Foundation
import GRDB
import LFSFiles
import LFSSystem
import TestSupport
import Testing

@testable import LFSCache

@Suite("Damaged caches", .timeLimit(.minutes(10)))
struct DamageTests {
    private static let count = 12
    private static let large = 100_000

    private func key(_ number: Int) -> CacheKey { number % 4 == 0 ? .preview(number) : .thumbnail(number) }

    private func expected(_ number: Int) -> Data {
        content(key(number), version: number, byteCount: number % 4 == 0 ? Self.large : 300)
    }

    private func fill(_ cache: MediaCache) async {
        for number in 0..<Self.count {
            await cache.store(expected(number), for: key(number), tags: [.asset("\(number)"), .album("a")])
        }
    }

    /// Returns the number of entries that are found, each with its own content.
    private func right(_ cache: MediaCache) async -> Int {
        var count = 0
        for number in 0..<Self.count {
            guard let found = await cache.content(for: key(number)) else { continue }
            #expect(found == expected(number), "entry \(number)")
            count += 1
        }
        return count
    }

    /// Expects that the cache works like a new one.
    private func expectUsable(_ cache: MediaCache, note: String = "") async throws {
        await fill(cache)
        // The damage may be detected only now, which deletes the entries stored before.
        for _ in 0..<2 {
            cache.dropMemory()
            if await right(cache) < Self.count { await fill(cache) }
        }
        cache.dropMemory()
        let count = await right(cache)
        #expect(count == Self.count, "\(note)")
        try await cache.invalidate(.album("a"))
        #expect(await right(cache) == 0, "\(note)")
    }

    @Test("A damaged or replaced file is a cache miss and is removed", arguments: 0..<8)
    func files(_ fault: Int) async throws {
        try await withHost { host in
            let key = CacheKey.preview(0)
            let right = content(key, byteCount: Self.large)
            try await host.withCache { cache in
                await cache.store(right, for: key)
                cache.dropMemory()
                let file = try #require(host.files().first)
                try #expect(permissions(of: file) == 0o600)
                var bytes = right
                switch fault {
                case 0: bytes.removeLast()
                case 1: bytes.append(0)
                case 2: bytes[0] ^= 1
                case 3: bytes[bytes.count - 1] ^= 0x80
                case 4: bytes[bytes.count / 2] ^= 0x10
                default: break
                }
                try FileManager.default.removeItem(at: file)
                let other = host.folder.child("other")
                try bytes.write(to: other)
                switch fault {
                case 0...4: try bytes.write(to: file)
                case 5: try FileManager.default.createSymbolicLink(at: file, withDestinationURL: other)
                case 6: try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
                default: break
                }
                #expect(await cache.content(for: key) == nil)
                try #expect(Data(contentsOf: other) == bytes)
                let usage = await cache.usage()
                #expect(usage.damagedEntries == 1 && usage.kinds[.previews] == nil)
                try await #expect(cache.content(for: key) { right } == right)
                cache.dropMemory()
                #expect(await cache.content(for: key) == right)
            }
        }
    }

    @Test("A cache with a flipped byte in its database returns correct content or none", arguments: 0..<8)
    func flippedBytes(_ part: Int) async throws {
        try await withHost { host in
            try await host.withCache { await fill($0) }
            let sound = try Data(contentsOf: host.databaseFile)
            let files = try host.files().map { ($0, try Data(contentsOf: $0)) }
            // The places are all bytes of the file header and the start of the schema, and a sample of all pages.
            let places = Array(0..<100) + Array(stride(from: 112, to: sound.count, by: 977))
            var (found, lost) = (0, 0)
            for (index, place) in places.enumerated() where index % 8 == part {
                var bytes = sound
                bytes[place] ^= [0x01, 0x80, 0xFF][index % 3]
                for name in ["cache.sqlite-wal", "cache.sqlite-shm", "cache.damaged"] {
                    _ = try Directory.open(host.cache.path).remove(name)
                }
                try bytes.write(to: host.databaseFile)
                for (file, content) in files { try content.write(to: file) }
                try await host.withCache { cache in
                    let count = await right(cache)
                    if count == Self.count { found += 1 } else { lost += 1 }
                    try await expectUsable(cache, note: "byte \(place)")
                }
            }
            #expect(lost > 0 && found > 0, "\(found) unharmed, \(lost) not")
        }
    }

    @Test("A cache with a truncated or foreign database returns correct content or none", arguments: 0..<12)
    func cut(_ twelfth: Int) async throws {
        try await withHost { host in
            try await host.withCache { await fill($0) }
            let sound = try Data(contentsOf: host.databaseFile)
            try sound.prefix(sound.count * twelfth / 12 + twelfth % 3).write(to: host.databaseFile)
            try await host.withCache { cache in
                _ = await right(cache)
                try await expectUsable(cache)
            }
            try Data(repeating: 7, count: 5_000).write(to: host.databaseFile)
            try await host.withCache { cache in
                #expect(await right(cache) == 0)
                let usage = await cache.usage()
                #expect(usage.failures == 1, "\(usage.lastFailure ?? "none")")
                try #expect(host.files() == [], "the files went with the database")
                try await expectUsable(cache)
            }
        }
    }

    @Test("A database that is damaged while it is open is replaced without failing a read")
    func damagedWhileOpen() async throws {
        try await withHost { host in
            let cache = try await host.open()
            for number in 0..<300 {
                await cache.store(content(.thumbnail(number), byteCount: 3_000), for: .thumbnail(number))
            }
            await cache.store(content(.preview(0), byteCount: Self.large), for: .preview(0))
            cache.dropMemory()
            // Everything after the first page, in both files.
            try overwrite(host.cache.child("cache.sqlite-wal"), from: 0)
            try overwrite(host.databaseFile, from: 4_096)
            for number in 0..<300 {
                let key = CacheKey.thumbnail(number)
                let found = try await cache.content(for: key) { content(key, byteCount: 3_000) }
                #expect(found == content(key, byteCount: 3_000))
            }
            let usage = await cache.usage()
            #expect(usage.failures > 0)
            cache.dropMemory()
            var count = 0
            for number in 0..<300 where await cache.content(for: .thumbnail(number)) != nil { count += 1 }
            #expect(count > 290, "it keeps again")
            await cache.close()
            try #expect(!names(in: host.cache).contains("cache.damaged"))
            try await host.withCache { #expect(await $0.usage().failures == 0) }
        }
    }

    private func overwrite(_ url: URL, from offset: UInt64) throws {
        let file = try FileHandle(forUpdating: url)
        let end = try file.seekToEnd()
        guard end > offset else { return try file.close() }
        try file.seek(toOffset: offset)
        try file.write(contentsOf: Data(repeating: 0xA5, count: Int(end - offset)))
        try file.close()
    }

    @Test("A cache database of another version starts empty", arguments: [0, 1, 99, -1])
    func version(_ version: Int) async throws {
        try await withHost { host in
            try await host.withCache { await fill($0) }
            let database = try DatabaseQueue(path: host.databaseFile.path)
            try await database.write { db in try db.execute(sql: "PRAGMA user_version = \(version)") }
            try database.close()
            try await host.withCache { cache in
                #expect(await right(cache) == 0)
                try #expect(host.files() == [])
                try await expectUsable(cache)
            }
        }
    }

    @Test("A link in place of the database is removed and not followed", arguments: [true, false])
    func link(_ isSymbolic: Bool) async throws {
        try await withHost { host in
            let other = host.folder.child("other.sqlite")
            try await host.withCache { await fill($0) }
            try FileManager.default.moveItem(at: host.databaseFile, to: other)
            let bytes = try Data(contentsOf: other)
            if isSymbolic {
                try FileManager.default.createSymbolicLink(at: host.databaseFile, withDestinationURL: other)
            } else {
                try FileManager.default.linkItem(at: other, to: host.databaseFile)
            }
            try await host.withCache { cache in
                #expect(await right(cache) == 0)
                try await expectUsable(cache)
            }
            try #expect(Data(contentsOf: other) == bytes)
            try #expect(permissions(of: host.databaseFile) == 0o600)
        }
    }

    @Test("A link in place of the folder or its lock, or a shared folder, is refused")
    func folders() async throws {
        try await withHost { host in
            try await host.withCache { await fill($0) }
            try #expect(permissions(of: host.cache) == 0o700)
            let (files, other) = (FileManager.default, host.folder.child("other"))
            try files.moveItem(at: host.cache, to: other)
            try files.createSymbolicLink(at: host.cache, withDestinationURL: other)
            #expect(await code { _ = try await host.open() } == .wrongFolder)
            try files.removeItem(at: host.cache)
            try files.moveItem(at: other, to: host.cache)
            try files.moveItem(at: host.cache.child("cache.lock"), to: other)
            try files.createSymbolicLink(at: host.cache.child("cache.lock"), withDestinationURL: other)
            #expect(await code { _ = try await host.open() } == .wrongFolder)
            try files.removeItem(at: host.cache.child("cache.lock"))
            try files.setAttributes([.posixPermissions: 0o770], ofItemAtPath: host.cache.path)
            #expect(await code { _ = try await host.open() } == .permissionDenied)
            try files.setAttributes([.posixPermissions: 0o700], ofItemAtPath: host.cache.path)
            try files.removeItem(at: host.databaseFile)
            try files.createDirectory(at: host.databaseFile, withIntermediateDirectories: false)
            #expect(await code { _ = try await host.open() } == .wrongFolder)
            try files.removeItem(at: host.databaseFile)
            try await host.withCache { try await expectUsable($0) }
        }
    }

    @Test("Unreferenced cache files are removed when the cache opens, and others stay")
    func orphans() async throws {
        try await withHost { host in
            try await host.withCache { await fill($0) }
            let own = try host.files()
            #expect(own.count == 3)
            let orphan = host.cache.child(FileID.make().text + ".cached")
            let foreign = [
                FileID.make().text, "x.cached", "note.txt", "0198c1f2-0000-7000-8000-00000000000G.cached",
                "cache.sqlite.backup",
            ].map(host.cache.child)
            for file in foreign + [orphan] { try Data([1]).write(to: file) }
            let inside = host.cache.child(FileID.make().text + ".cached")
            try FileManager.default.createDirectory(at: inside, withIntermediateDirectories: false)
            try Data([1]).write(to: inside.child(FileID.make().text + ".cached"))
            try await host.withCache { #expect(await right($0) == Self.count) }
            let left = try Set(host.files().map(\.lastPathComponent))
            #expect(left == Set((own + [inside]).map(\.lastPathComponent)))
            for file in foreign { #expect(FileManager.default.fileExists(atPath: file.path)) }
            try #expect(names(in: inside).count == 1)
        }
    }
}

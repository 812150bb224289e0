import Foundation
import GRDB
import LFSSystem
import TestSupport
import Testing

@testable import LFSCache

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

@Suite("Killed processes", .timeLimit(.minutes(10)), .serialized)
struct KillTests {
    /// The number of kills. `LFS_CACHE_KILLS` changes it.
    private static let kills = Int(ProcessInfo.processInfo.environment["LFS_CACHE_KILLS"] ?? "") ?? 12

    /// Returns keys of small entries, and of large ones that are stored as files.
    static func key(_ number: Int) -> CacheKey { number % 3 == 0 ? .preview(number) : .thumbnail(number) }
    static func size(_ number: Int) -> Int { number % 3 == 0 ? 80_000 : 1_500 }

    @Test("A killed process leaves whole entries and nothing that was removed before")
    func killed() async throws {
        try await withHost { host in
            var host = host
            host.options.folder = host.folder.child("media")
            host.options.limits[.thumbnails] = CacheLimit(count: 12)
            let log = host.folder.child("log")
            for kill in 0..<Self.kills {
                let (path, delay) = (host.folder.path, 3_000 + kill * 40_000 / Self.kills)
                await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, delay = delay as Int] in
                    try await Self.victim(path, killedAfter: delay)
                }
                // "+ number version" is written before a store, "- number version" after a removal has ended.
                var (newest, gone): ([Int: Int], [Int: Int]) = ([:], [:])
                for line in try String(contentsOf: log, encoding: .utf8).split(separator: "\n") {
                    let parts = line.split(separator: " ")
                    guard parts.count == 3, let number = Int(parts[1]), let version = Int(parts[2]) else { continue }
                    if parts[0] == "+" { newest[number] = version } else { gone[number] = version }
                }
                try await host.withCache { cache in
                    for number in 0..<20 {
                        let key = Self.key(number)
                        guard let found = await cache.content(for: key) else { continue }
                        let version =
                            String(decoding: found.prefix(60), as: UTF8.self).split(separator: "#").dropFirst()
                            .first.flatMap { Int($0) } ?? 0
                        #expect(content(key, version: version, byteCount: Self.size(number)) == found)
                        #expect(version > gone[number] ?? 0 && version <= newest[number] ?? 0, "\(key), kill \(kill)")
                    }
                    let usage = await cache.usage()
                    #expect(usage.failures == 0 && usage.damagedEntries == 0)
                    #expect(usage.kinds[.thumbnails]?.disk.count ?? 0 <= 12)
                    try #expect(host.files().count == usage.kinds[.previews]?.disk.count ?? 0, "no file is left over")
                }
            }
        }
    }

    /// Stores, replaces and removes entries as fast as possible, and logs each start of a store and each end of a
    /// removal.
    private static func victim(_ path: String, killedAfter delay: Int) async throws {
        let folder = URL(fileURLWithPath: path)
        var host = try CacheHost(folder)
        host.options.folder = folder.child("media")
        host.options.limits[.thumbnails] = CacheLimit(count: 12)
        let log = open(folder.child("log").path, O_WRONLY | O_APPEND | O_CREAT, 0o600)
        func note(_ text: String) { _ = text.withCString { write(log, $0, strlen($0)) } }
        let cache = try await host.open()
        var generator = SystemRandomNumberGenerator()
        var version = Int(Date().timeIntervalSince1970 * 1_000)
        Thread.detachNewThread {
            usleep(UInt32(delay))
            kill(getpid(), SIGKILL)
        }
        while true {
            version += 1
            let number = Int.random(in: 0..<20, using: &generator)
            if version % 4 == 0 {
                try await cache.invalidate(.asset("\(number)"))
                note("- \(number) \(version)\n")
            } else {
                note("+ \(number) \(version)\n")
                let made = content(key(number), version: version, byteCount: size(number))
                await cache.store(made, for: key(number), tags: [.asset("\(number)")])
            }
        }
    }
}

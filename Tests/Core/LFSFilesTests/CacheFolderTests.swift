import Foundation
import LFSSystem
import TestSupport
import Testing

@testable import LFSFiles

@Suite("Cache of a local store")
struct CacheFolderTests {
    private static let databaseID = "0198c1f2-0000-7000-8000-000000000001"

    private func withStore(_ body: (LocalStore, URL) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let path = folder.child("app.sqlite.lfs")
            try await body(LocalStore(at: path.path, databaseID: Self.databaseID), path.child("cache"))
        }
    }

    private func fill(_ cache: URL, names: [String]) throws {
        for name in names { try Data(name.utf8).write(to: cache.child(name)) }
    }

    private func empty(_ store: LocalStore) throws {
        try store.removeEverything(cache: store.holdCache()) { _ in true }
    }

    private let own = [
        "cache.sqlite", "cache.sqlite-wal", "cache.sqlite-shm", "cache.sqlite-journal", "cache.damaged",
        "0198c1f2-0000-7000-8000-000000000002.cached",
    ]

    @Test("Removing everything deletes only the cache's own names")
    func names() async throws {
        try await withStore { store, cache in
            try empty(store)
            #expect(!FileManager.default.fileExists(atPath: cache.path), "no folder is created for it")
            do { _ = try CacheFolder(at: cache.path) }
            let foreign = ["note.txt", "cache.sqlite.bak", "x.cached", "0198c1f2-0000-7000-8000-000000000003"]
            try fill(cache, names: own + foreign)
            try FileManager.default.createDirectory(at: cache.child("below"), withIntermediateDirectories: false)
            try fill(cache.child("below"), names: own)
            let folder = cache.child("0198c1f2-0000-7000-8000-000000000004.cached")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            try empty(store)
            try #expect(
                TestSupport.names(in: cache) == (foreign + ["below", folder.lastPathComponent, "cache.lock"]).sorted())
            try #expect(TestSupport.names(in: cache.child("below")) == own.sorted())
        }
    }

    @Test("Removing everything deletes links in the cache and not their targets")
    func links() async throws {
        try await withStore { store, cache in
            let other = cache.deletingLastPathComponent().deletingLastPathComponent().child("other")
            try FileManager.default.createDirectory(at: other, withIntermediateDirectories: false)
            try fill(other, names: own)
            do { _ = try CacheFolder(at: cache.path) }
            for name in own {
                try FileManager.default.createSymbolicLink(
                    at: cache.child(name), withDestinationURL: other.child(name))
            }
            try empty(store)
            try #expect(TestSupport.names(in: cache) == ["cache.lock"])
            try #expect(TestSupport.names(in: other) == own.sorted())
            try FileManager.default.removeItem(at: cache)
            try FileManager.default.createSymbolicLink(at: cache, withDestinationURL: other)
            try empty(store)
            try #expect(TestSupport.names(in: other) == own.sorted())
        }
    }

    @Test("An open cache is kept, and a reset locks out other users")
    func lock() async throws {
        try await withStore { store, cache in
            let open = try CacheFolder(at: cache.path)
            try #expect(open.lock.tryLock(.shared))
            try fill(cache, names: own)
            guard case .busy = try store.holdCache() else {
                Issue.record("The cache was opened.")
                return
            }
            try empty(store)
            try #expect(TestSupport.names(in: cache) == (own + ["cache.lock"]).sorted())
            try open.lock.unlock()
            let hold = try store.holdCache()
            try #expect(!open.lock.tryLock(.shared))
            try store.removeEverything(cache: hold) { _ in true }
            try #expect(TestSupport.names(in: cache) == ["cache.lock"])
        }
    }
}

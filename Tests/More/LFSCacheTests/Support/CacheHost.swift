import Foundation
import GRDB
import LFSDatabase
import LFSFiles
import LFSSystem
import Logging
import TestSupport
import Testing

@testable import LFSCache

/// An app with a database and a folder for its cache.
struct CacheHost: Sendable {
    let folder: URL
    let database: DatabaseQueue
    var options: CacheOptions

    init(_ folder: URL, name: String = "app.sqlite") throws {
        self.folder = folder
        database = try DatabaseQueue(path: folder.child(name).path)
        var migrator = DatabaseMigrator()
        Schema.register(in: &migrator)
        try migrator.migrate(database)
        options = CacheOptions()
        options.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    }

    /// The folder of the cache.
    var cache: URL { options.folder ?? folder.child("app.sqlite.lfs").child("cache") }
    var databaseFile: URL { cache.child("cache.sqlite") }

    /// Returns the number of bytes of the open database and its log.
    func databaseByteCount() throws -> Int {
        let log = cache.child("cache.sqlite-wal")
        return try [databaseFile, log].reduce(0) { count, file in
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            return count + (attributes[.size] as? Int ?? 0)
        }
    }

    func open() async throws -> MediaCache { try await MediaCache.open(for: database, options: options) }

    /// Runs the body with an open cache, and checks that nothing is under way afterwards.
    func withCache<Result>(_ body: (MediaCache) async throws -> Result) async throws -> Result {
        let cache = try await open()
        let result: Result
        do {
            result = try await body(cache)
        } catch {
            await cache.close()
            throw error
        }
        #expect(cache.flights.count == 0)
        await cache.close()
        return result
    }

    /// The files of large entries.
    func files() throws -> [URL] {
        try names(in: cache).filter { CacheFolder.id(ofFile: $0) != nil }.map(cache.child)
    }

    /// Deletes the rows as `LFSManager.reset` does.
    func resetRows(before: Int64 = 1_000) async throws {
        try await database.write { db in
            try ResetRows.delete(before: before, keepsTombstones: false, db) { _ in }
        }
    }
}

/// Runs a test with a new app that is removed afterwards.
func withHost<Result>(_ body: (inout CacheHost) async throws -> Result) async throws -> Result {
    try await withTemporaryFolder { folder in
        var host = try CacheHost(folder)
        let result = try await body(&host)
        try host.database.close()
        return result
    }
}

extension CacheKey {
    static func thumbnail(_ number: Int) -> CacheKey { CacheKey(.thumbnails, name: "t\(number)") }
    static func preview(_ number: Int) -> CacheKey { CacheKey(.previews, name: "p\(number)") }
}

/// Returns content that is unique to its key and version.
func content(_ key: CacheKey, version: Int = 1, byteCount: Int = 1_000) -> Data {
    var text = Data("\(key)#\(version)#\(byteCount)#".utf8)
    var generator = SeededGenerator(seed: UInt64(version) &* 31 &+ UInt64(byteCount))
    while text.count < byteCount { withUnsafeBytes(of: generator.next()) { text.append(contentsOf: $0) } }
    return text.prefix(max(byteCount, 1)).withUnsafeBytes { Data($0) }
}

struct LoadFailed: Error {}

/// Fails the test. This is the load of an entry that must be found.
func noLoad() throws -> Data {
    Issue.record("This was to be found.")
    throw LoadFailed()
}

/// Returns the code of the error that the body throws.
func code(_ body: () async throws -> Void) async -> CacheError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? CacheError)?.code
    }
}

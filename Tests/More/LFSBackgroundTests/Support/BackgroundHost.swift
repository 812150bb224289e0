import Foundation
import GRDB
import LFS
import LFSBackground
import LFSStorage
import LFSSystem
import TestSupport
import Testing

@testable import LFSSignedURL

/// An app with a database in its own folder, whose files are uploaded to a ``StoreServer``.
struct BackgroundHost: Sendable {
    let folder: URL
    let server: URL

    var databasePath: String { folder.child("app.sqlite").path }
    var outgoing: URL { folder.child("app.sqlite.lfs").child("outgoing") }
    var objects: URL { Self.objects(in: folder) }

    static func objects(in folder: URL) -> URL { folder.child("store") }

    /// Runs a test with a server and an app.
    static func run(_ body: (BackgroundHost, StoreServer) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            try await StoreServer.run(in: objects(in: folder)) { store, url in
                try await body(BackgroundHost(folder: folder, server: url), store)
            }
        }
    }

    func storage() throws -> SignedURLStorage {
        var options = SignedURLOptions()
        options.allowsPlainHTTP = true
        return try SignedURLStorage(
            server: server, authorization: .bearer { _ in StoreServer.token }, options: options)
    }

    /// Opens a manager and the background uploads of an app process, and stops it after the body.
    ///
    /// - Parameter starts: true to start the ordinary uploads.
    func launch<Value>(
        with session: some BackgroundSession, starts: Bool = false,
        configure: (inout LFSOptions, inout BackgroundOptions) -> Void = { _, _ in },
        _ body: (App) async throws -> Value
    ) async throws -> Value {
        let database = try DatabasePool(path: databasePath)
        var migrator = DatabaseMigrator()
        migrator.registerLFSMigrations()
        try migrator.migrate(database)
        let storage = try storage()
        var options = LFSOptions(storage: storage)
        options.backoff = Backoff(base: .milliseconds(1), cap: .milliseconds(20))
        options.pollInterval = .milliseconds(20)
        var limits = BackgroundOptions()
        configure(&options, &limits)
        let lfs = try await LFSManager.open(database, options: options)
        let result = await Result<Value, any Error>.catching {
            let uploads = try BackgroundUploads(lfs, session: session, options: limits)
            if starts { try lfs.start() }
            return try await body(App(lfs: lfs, uploads: uploads, database: database))
        }
        try await lfs.stop()
        await storage.shutdown()
        try database.close()
        return try result.get()
    }

    /// Returns the keys of the objects in the store, with their contents.
    func storedObjects() throws -> [String: Data] {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: objects.path)
        var found: [String: Data] = [:]
        for path in paths where !path.hasPrefix(".") && !path.contains("/.") {
            let url = objects.child(path)
            if try url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true {
                found[path] = try Data(contentsOf: url)
            }
        }
        return found
    }

    /// Returns the names of the part files.
    func partFiles() throws -> [String] {
        FileManager.default.fileExists(atPath: outgoing.path) ? try names(in: outgoing) : []
    }
}

/// A process of the app.
struct App: Sendable {
    let lfs: LFSManager
    let uploads: BackgroundUploads
    let database: DatabasePool

    /// Attaches a file with sample bytes.
    func attach(_ byteCount: Int = 1_000, seed: UInt64 = 1) async throws -> FileData {
        let file = try await lfs.makeFile(from: .bytes(SampleBytes.make(byteCount, seed: seed)))
        try await database.write { db in try file.insert(db) }
        return file
    }

    func count(_ sql: String) async throws -> Int {
        try await database.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM \(sql)") ?? -1 }
    }

    func dueCount() async throws -> Int {
        try await count("lfs_job WHERE notBefore <= CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) + 1")
    }

    func file(_ id: FileID) async throws -> FileData? {
        try await database.read { db in try FileData.fetchOne(db, key: id) }
    }

    /// Runs the body while the events of the session are handled.
    func handlingEvents(_ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await uploads.run() }
            try await body()
            group.cancelAll()
        }
    }
}

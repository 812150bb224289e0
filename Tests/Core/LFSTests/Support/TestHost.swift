import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSystem
import TestSupport
import Testing

/// An app in its own folder, with a database whose table refers to files, a storage, and managers.
struct TestHost: Sendable {
    let folder: URL
    let database: any DatabaseWriter
    let storage: any RemoteStorage

    var databasePath: String { folder.appendingPathComponent("recipes.sqlite").path }
    var store: URL { folder.appendingPathComponent("recipes.sqlite.lfs") }
    var temporary: URL { store.appendingPathComponent("temporary") }

    var options: LFSOptions {
        var options = LFSOptions(storage: storage)
        options.backoff = Backoff(base: .milliseconds(1), cap: .milliseconds(20))
        options.pollInterval = .milliseconds(20)
        return options
    }

    /// Opens another connection to the same database, as another process would.
    func otherDatabase() throws -> DatabasePool { try Self.open(databasePath) }

    static func open(_ path: String) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.busyMode = .timeout(600)
        return try DatabasePool(path: path, configuration: configuration)
    }

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerLFSMigrations()
        migrator.registerMigration("recipes") { db in
            try db.create(table: "recipe") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("title", .text).notNull()
                table.column("photoId", .text).references("lfs_file", onDelete: .setNull)
            }
        }
        return migrator
    }

    /// A migrator that erases the database if it finds tables that it did not create.
    static var erasingMigrator: DatabaseMigrator {
        var migrator = migrator
        migrator.eraseDatabaseOnSchemaChange = true
        return migrator
    }

    // MARK: Files

    func filesInStore() throws -> Set<FileID> { try Self.files(in: store) }
    func filesInTemporary() throws -> Set<FileID> { try Self.files(in: temporary) }

    static func files(in folder: URL) throws -> Set<FileID> {
        guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        return Set(try names.filter { $0.count == 36 }.map { try #require(FileID($0)) })
    }

    // MARK: Rows

    func file(_ id: FileID) throws -> FileData? { try database.read { try FileData.fetchOne($0, key: id) } }
    func count(_ sql: String) throws -> Int {
        try database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(sql)") ?? -1 }
    }
}

struct Recipe: Codable, FetchableRecord, PersistableRecord {
    var title: String
    var photoId: FileID?
    static let photo = belongsTo(FileData.self, key: "photo")
}

/// The kind of connection of the host.
enum Connection: CaseIterable { case pool, queue }

/// Runs a test with a host in a folder that is removed afterwards.
///
/// - Parameter parent: the folder in which that folder is created.
@discardableResult
func withHost<Result>(
    _ connection: Connection = .pool, storage: (any RemoteStorage)? = nil,
    in parent: URL = FileManager.default.temporaryDirectory, _ body: (TestHost) async throws -> Result
) async throws -> Result {
    let folder = parent.appendingPathComponent("lfs-test-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    let path = folder.appendingPathComponent("recipes.sqlite").path
    let database: any DatabaseWriter = connection == .pool ? try TestHost.open(path) : try DatabaseQueue(path: path)
    try TestHost.migrator.migrate(database)
    let result = try await body(TestHost(folder: folder, database: database, storage: storage ?? InMemoryStorage()))
    try database.close()
    return result
}

/// Runs a test with a host and a running manager. Afterwards the manager is stopped, and nothing may be left over.
func withLFS(
    _ connection: Connection = .pool, storage: (any RemoteStorage)? = nil,
    configure: (inout LFSOptions) -> Void = { _ in }, expectsLeftovers: Bool = false,
    _ body: (TestHost, LFSManager) async throws -> Void
) async throws {
    try await withHost(connection, storage: storage) { host in
        var options = host.options
        configure(&options)
        try await withManager(host, options: options) { lfs in
            try await body(host, lfs)
            if !expectsLeftovers {
                try await lfs.waitForUploads()
                try await lfs.waitForDeletions()
                #expect(try host.filesInTemporary().isEmpty)
                #expect(try host.count("lfs_job") == 0)
                #expect(try host.count("lfs_tombstone") == 0)
            }
        }
    }
}

/// Opens and starts a manager, and always stops it.
func withManager(
    _ host: TestHost, options: LFSOptions? = nil, on database: (any DatabaseWriter)? = nil, starts: Bool = true,
    _ body: (LFSManager) async throws -> Void
) async throws {
    let lfs = try await LFSManager.open(database ?? host.database, options: options ?? host.options)
    do {
        if starts { try lfs.start() }
        try await body(lfs)
    } catch {
        try await lfs.stop()
        throw error
    }
    try await lfs.stop()
}

/// Returns bytes that differ from call to call.
func someBytes(_ count: Int = 1_000) -> [UInt8] { SampleBytes.make(count, seed: .random(in: 0 ... .max)) }

/// Returns all bytes of a file as the manager reads them.
func read(_ file: FileData, lfs: LFSManager) async throws -> [UInt8]? {
    guard let contents = try await lfs.contents(of: file) else { return nil }
    var bytes: [UInt8] = []
    for try await chunk in contents { bytes += chunk }
    return bytes
}

/// Returns the code of the LFSError that a call throws, or nil if it throws no such error.
func errorCode(_ body: () async throws -> Void) async -> LFSError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? LFSError)?.code
    }
}

extension FileID {
    /// An id of no existing file.
    static var unknown: FileID { make() }
}

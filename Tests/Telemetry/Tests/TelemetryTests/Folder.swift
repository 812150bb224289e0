import Foundation
import GRDB
import LFS
import LFSStorage
import Testing

/// A folder with the database of an app in it.
struct Folder {
    let url: URL

    /// - Parameter configuration: of the connections.
    func openDatabase(_ configuration: Configuration = Configuration()) throws -> DatabasePool {
        let path = url.appendingPathComponent("a.sqlite").path
        let database = try DatabasePool(path: path, configuration: configuration)
        var migrator = DatabaseMigrator()
        migrator.registerLFSMigrations()
        try migrator.migrate(database)
        return database
    }

    /// Returns the number of files that fulfil a condition.
    func count(_ condition: String) throws -> Int {
        let database = try openDatabase()
        defer { #expect(throws: Never.self) { try database.close() } }
        return try database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM lfs_file WHERE \(condition)") ?? -1 }
    }
}

/// A folder of its own, removed afterwards.
func withFolder(_ body: (Folder) async throws -> Void) async throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("telemetry-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: url) } }
    try await body(Folder(url: url))
}

/// A manager that runs on a database of its own.
///
/// - Parameter options: changes how it works. Its delays between tries are short already.
func withManager(
    _ storage: any RemoteStorage, configuration: Configuration = Configuration(),
    _ options: (inout LFSOptions) -> Void = { _ in }, _ body: (LFSManager, DatabasePool) async throws -> Void
) async throws {
    try await withFolder { folder in
        let database = try folder.openDatabase(configuration)
        var changed = LFSOptions(storage: storage)
        changed.backoff = Backoff(base: .milliseconds(1), cap: .milliseconds(10))
        changed.pollInterval = .milliseconds(20)
        options(&changed)
        let lfs = try await LFSManager.open(database, options: changed)
        try lfs.start()
        do {
            try await body(lfs, database)
        } catch {
            try await lfs.stop()
            throw error
        }
        try await lfs.stop()
        try database.close()
    }
}

extension LFSManager {
    /// Makes a file and inserts it.
    func attach(_ bytes: Data, name: String? = nil, in database: DatabasePool) async throws -> FileData {
        let file = try await makeFile(from: .bytes(bytes), name: name)
        try await database.write { db in try file.insert(db) }
        return file
    }
}

/// Waits until something is so. The suite's time limit ends it.
func until(_ condition: () throws -> Bool) async throws {
    while try !condition() { try await Task.sleep(for: .milliseconds(10)) }
}

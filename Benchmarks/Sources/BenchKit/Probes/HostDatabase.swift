import Foundation
import GRDB
import LFS
import LFSStorage

/// The database of an app, with the tables of LFS and a table of the app.
struct HostDatabase: Sendable {
    let pool: DatabasePool

    /// Opens the database in a folder, and creates it if necessary.
    ///
    /// - Parameter prepare: is called with each new connection.
    init(in folder: String, prepare: (@Sendable (Database) throws -> Void)? = nil) throws {
        var configuration = Configuration()
        if let prepare { configuration.prepareDatabase { db in try prepare(db) } }
        pool = try DatabasePool(path: folder + "/host.sqlite", configuration: configuration)
        var migrator = DatabaseMigrator()
        migrator.registerLFSMigrations()
        migrator.registerMigration("notes") { db in
            try db.create(table: "note") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("text", .text).notNull()
            }
        }
        try migrator.migrate(pool)
    }

    /// Makes the writer sync each commit. A pool resets `synchronous` after its connections are prepared, so this must
    /// be called on an open pool.
    static func syncEachCommit(_ pool: DatabasePool) throws {
        try pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = FULL")
            guard try Int.fetchOne(db, sql: "PRAGMA synchronous") == 2 else {
                throw BenchError("The database did not accept PRAGMA synchronous = FULL.")
            }
        }
    }

    /// Performs the app's own typical write: one small row in one transaction.
    func writeNote() async throws {
        try await pool.write { db in
            try db.execute(sql: "INSERT INTO note (text) VALUES (?)", arguments: ["Buy bread, butter and a toaster."])
        }
    }

    /// Opens a manager and always stops it.
    func withManager<Value>(
        _ storage: any RemoteStorage, connections: Int = 10, _ body: (LFSManager) async throws -> Value
    ) async throws -> Value {
        var options = LFSOptions(storage: storage, maxExecutors: connections)
        options.maxDownloads = connections
        options.shutdownTimeout = .zero
        let lfs = try await LFSManager.open(pool, options: options)
        do {
            let value = try await body(lfs)
            try await lfs.stop()
            return value
        } catch {
            try await lfs.stop()
            throw error
        }
    }

    /// Creates files and commits their rows, so that they are pending in the local store.
    func attach(_ count: Int, bytes: Int) async throws {
        guard count > 0 else { return }
        try await withManager(InstantStorage()) { lfs in
            for start in stride(from: 0, to: count, by: Self.batch) {
                let sources = (start..<min(start + Self.batch, count)).map { number in
                    FileSource.bytes(RandomBytes.make(bytes, seed: UInt64(number))).named("file-\(number).bin")
                }
                let files = try await lfs.makeFiles(from: sources).map { try $0.get() }
                try await pool.write { db in for file in files { try file.insert(db) } }
            }
        }
        // Opening a manager moves the bytes of committed rows to their final place.
        try await withManager(InstantStorage()) { _ in }
    }

    private static let batch = 256
}

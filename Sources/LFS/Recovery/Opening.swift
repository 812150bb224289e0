import Foundation
import GRDB
import LFSFiles
import LFSSystem

/// What has to be known and in place before a manager exists: the schema, the folders, the lease.
struct Opening: Sendable {
    let namespace: String
    let runner: BackgroundRunner
    let places: FilePlaces
    private let options: LFSOptions
    private let ownsStore: Bool

    init(_ database: any DatabaseWriter, _ options: LFSOptions) async throws {
        self.options = options
        runner = BackgroundRunner(database)
        let identity = try await runner.read { db in
            let identity = try DatabaseIdentity(db)
            _ = try FileOwner.all(db)
            return identity
        }
        namespace = identity.namespace
        let storePath = try Self.storePath(options, identity)
        let store = try await BlockingPool.shared.run { _ in
            try LocalStore(at: storePath, databaseID: identity.databaseID, generation: identity.generation)
        }
        ownsStore = try await Lease.take(store.lease) { [runner] in
            try await runner.read { db in try Reset.isUnderWay(db) }
        }
        places = try await BlockingPool.shared.run { _ in
            FilePlaces(store: store, staging: try StagingArea(at: try Self.stagingPath(options, store, identity)))
        }
        try await rememberLocation()
        try await GenerationCount(runner: runner, store: store, wallClock: options.wallClock).advance()
    }

    /// Promotes, sweeps, and lets others open the store as well.
    func repair() async throws {
        let recovery = Recovery(
            runner: runner, places: places, gracePeriod: options.temporaryFileGracePeriod,
            downloadGracePeriod: options.unfinishedDownloadGracePeriod, wallClock: options.wallClock)
        if ownsStore { try await Reset(runner: runner, places: places, wallClock: options.wallClock).finish() }
        try await recovery.repair(sweeps: ownsStore)
        let lease = places.store.lease
        if ownsStore { try await BlockingPool.shared.run { _ in try lease.lock(.shared) } }
    }

    /// Writes down where this start stages its files, so that a later one finds them without the same options.
    private func rememberLocation() async throws {
        let paths = try await runner.read { db in try String.fetchAll(db, sql: "SELECT path FROM lfs_location") }
        let own = places.staging.path
        let places = places
        if own != places.store.path + "/" + LocalStore.temporaryName, !paths.contains(own) {
            // Durably: the bytes that come to be there must be found even after a power cut.
            try await runner.writeDurably { db in
                try db.execute(sql: "INSERT OR IGNORE INTO lfs_location (path) VALUES (?)", arguments: [own])
            }
        }
        let standard = places.store.path + "/" + LocalStore.temporaryName
        try await BlockingPool.shared.run { _ in places.add(paths + [standard]) }
    }

    private static func storePath(_ options: LFSOptions, _ identity: DatabaseIdentity) throws -> String {
        if let url = options.localStore { return url.absoluteURL.path }
        if identity.path.isEmpty {
            throw LFSError(
                .noLocalStore,
                "A database in memory has no folder beside it. Set LFSOptions.localStore to the folder that shall keep its files."
            )
        }
        return identity.path + ".lfs"
    }

    private static func stagingPath(
        _ options: LFSOptions, _ store: LocalStore, _ identity: DatabaseIdentity
    ) throws -> String {
        guard let location = options.persistenceLocation else { return store.path + "/" + LocalStore.temporaryName }
        let shared: Directory
        do {
            shared = try Directory.openOrMake(location.absoluteURL.path)
            // A folder of its own: several databases may share a location, and each sweeps only what is its own.
            return try shared.openOrMake(identity.databaseID).path
        } catch {
            throw FileError.keeping(error, at: location.path)
        }
    }
}

/// What the database says of itself.
struct DatabaseIdentity: Sendable {
    let databaseID: String
    let namespace: String
    /// How often the database was opened before.
    let generation: Int64
    /// The database's file with links resolved, as SQLite names it; empty for a database in memory.
    let path: String

    /// - Throws: ``LFSError/Code/notMigrated``, ``LFSError/Code/newerSchema``.
    init(_ db: Database) throws {
        guard try db.tableExists("lfs_state"),
            let row = try Row.fetchOne(db, sql: "SELECT * FROM lfs_state")
        else {
            throw LFSError(
                .notMigrated,
                "The database has no LFS tables. Call registerLFSMigrations() on its DatabaseMigrator and migrate before opening LFS."
            )
        }
        let version: Int = row["schemaVersion"]
        guard version <= Schema.version, try !Self.hasUnknownMigration(db) else {
            throw LFSError(
                .newerSchema,
                "The database was written by a newer LFS (schema \(version); this one knows \(Schema.version)). Update LFS."
            )
        }
        guard version == Schema.version else {
            throw LFSError(
                .notMigrated,
                "The database has the LFS tables of an older version (schema \(version); this one needs \(Schema.version)). Call registerLFSMigrations() on its DatabaseMigrator and migrate before opening LFS."
            )
        }
        databaseID = row["databaseID"]
        namespace = row["namespace"]
        generation = row["generation"]
        path = try String.fetchOne(db, sql: "SELECT file FROM pragma_database_list WHERE name = 'main'") ?? ""
    }

    private static func hasUnknownMigration(_ db: Database) throws -> Bool {
        guard try db.tableExists("grdb_migrations") else { return false }
        let applied = try String.fetchAll(db, sql: "SELECT identifier FROM grdb_migrations")
        let known = Schema.migrations.map(\.identifier)
        return applied.contains { $0.hasPrefix(Schema.migrationPrefix) && !known.contains($0) }
    }
}

import Foundation
import GRDB
import LFSFiles
import LFSSystem
import Logging

/// What has to be known and in place before a manager exists: the schema, the folders, the lease.
struct Opening: Sendable {
    let namespace: String
    let runner: BackgroundRunner
    let places: FilePlaces
    private let options: LFSOptions
    private let ownsStore: Bool
    /// Whether this opening is counted. On a full disk it is not, and then it sweeps nothing.
    private var isCounted = false

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
        places = try await FilePlaces.open(store, location: options.persistenceLocation, runner)
        let count = GenerationCount(runner: runner, store: store, wallClock: options.wallClock)
        isCounted = try await isCounted(count)
        for folder in places.earlier {
            options.logger.notice(
                "a folder of this database with another local store is left alone",
                metadata: ["lfs.folder": "\(folder.path)"])
        }
        for place in try await Whereabouts(runner: runner, places: places).absent() {
            options.logger.warning(
                "a folder that may have files is not there",
                metadata: ["lfs.folder": "\(place.path)", "reason": "\(place.reason)"])
        }
    }

    /// Reading and freeing need an open manager, and freeing is the way out of a full disk.
    private func isCounted(_ count: GenerationCount) async throws -> Bool {
        do {
            try await count.advance(isAlone: ownsStore)
            return true
        } catch where NoSpace.isCause(of: error) {
            options.logger.warning("opened on a full disk", metadata: ["error.message": "\(error)"])
            return false
        }
    }

    /// Promotes, sweeps, and lets others open the store as well.
    ///
    /// - Returns: whether files are left that wait for room in the store; their bytes are read where they are.
    func repair() async throws -> Bool {
        let recovery = Recovery(
            runner: runner, places: places, gracePeriod: options.temporaryFileGracePeriod,
            downloadGracePeriod: options.unfinishedDownloadGracePeriod, wallClock: options.wallClock)
        if ownsStore { try await Reset(runner: runner, places: places, wallClock: options.wallClock).finish() }
        let isComplete = try await repair(recovery)
        let store = places.store
        if ownsStore { try await BlockingPool.shared.run { _ in try store.lease.lock(.shared) } }
        try await BlockingPool.shared.run { _ in try store.makeSpareRoom() }
        return !isComplete
    }

    private func repair(_ recovery: Recovery) async throws -> Bool {
        do {
            try await recovery.repair(sweeps: ownsStore && isCounted)
            return true
        } catch where NoSpace.isCause(of: error) || error is SystemError {
            // Their uploads say what is wrong with them, and the promoter tries again.
            options.logger.warning("committed files stay where they wait", metadata: ["error.message": "\(error)"])
            return false
        }
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
        let checked = CheckedRow(row: row, table: "lfs_state")
        let version: Int = try checked.value("schemaVersion")
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
        databaseID = try checked.value("databaseID")
        // It stands in markers, and is the name of a folder.
        guard FileID(databaseID) != nil else {
            throw LFSError(
                .wrongStore,
                "The id of the database in lfs_state is none that LFS makes: another program has written it. Put the database back from a backup."
            )
        }
        namespace = try checked.value("namespace")
        generation = try checked.number("generation", in: 0...Self.mostOpenings)
        guard namespace == Schema.namespace(of: databaseID) else { throw checked.invalid("namespace") }
        path = try String.fetchOne(db, sql: "SELECT file FROM pragma_database_list WHERE name = 'main'") ?? ""
    }

    /// Far from where counting on would end.
    private static let mostOpenings: Int64 = 1 << 50

    private static func hasUnknownMigration(_ db: Database) throws -> Bool {
        guard try db.tableExists("grdb_migrations") else { return false }
        let applied = try String.fetchAll(db, sql: "SELECT identifier FROM grdb_migrations")
        let known = Schema.migrations.map(\.identifier)
        return applied.contains { $0.hasPrefix(Schema.migrationPrefix) && !known.contains($0) }
    }
}

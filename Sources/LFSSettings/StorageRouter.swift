public import GRDB
import LFSDatabase
import LFSSystem

/// Reads and writes the settings of one database, each by its key.
///
/// ```swift
/// let storage = try await StorageRouter.open(database, catalogs: [catalog])
/// let wifi = try await storage.get(.backupRequiresWiFi)
/// ```
///
/// It is wiring only, and holds the state of ``run()`` alone: calls do not wait for each other here. Nothing has to run
/// for reading, writing and observing within this process; only changes of other processes and devices need
/// ``run()`` or ``start()``. Several routers, in one process or in several, may have the same database.
public actor StorageRouter {
    enum Phase {
        case open, running, stopped
    }

    nonisolated let access: ValueAccess
    nonisolated let options: StorageOptions
    nonisolated let changes: DatabaseChanges
    nonisolated let companionRunners: [CompanionRunner]
    nonisolated let stopLatch = Latch()
    nonisolated let endLatch = Latch()
    var phase = Phase.open
    var task: Task<Void, any Error>?

    /// Opens the settings of a database whose migrations have run (`registerLFSSettingsMigrations()`), finishes what a
    /// crash has left, and takes over values of earlier versions of the app.
    ///
    /// A root key, a key chain or a folder that is not there is no error here but one of each call that needs it, so
    /// that other settings can be used meanwhile. A catalog whose data cannot be brought to its version is none either:
    /// its keys throw ``SettingsError/Code/migrationFailed`` until a later open, and can be removed.
    ///
    /// - Parameters:
    ///   - database: the host's own.
    ///   - catalogs: all keys that will be used; no name may be in two of them.
    ///   - options: where secrets and the root key are.
    /// - Throws: ``SettingsError``: ``SettingsError/Code/notMigrated``, ``SettingsError/Code/newerSchema``;
    ///   ``SettingsError/Code/duplicate``, ``SettingsError/Code/invalidName``, ``SettingsError/Code/illegalPair``,
    ///   ``SettingsError/Code/invalidStep``, ``SettingsError/Code/notConfigured``,
    ///   ``SettingsError/Code/notConfidential`` for the catalogs; ``SettingsError/Code/newerData`` for the data.
    public static func open(
        _ database: any DatabaseWriter, catalogs: [StorageCatalog], options: StorageOptions = StorageOptions()
    ) async throws -> StorageRouter {
        try await SettingsError.catching(nil) {
            let opening = try await Opening(database, catalogs, options)
            let router = StorageRouter(opening)
            try await router.attach()
            do {
                try await opening.run()
            } catch {
                try await router.detach()
                throw error
            }
            return router
        }
    }

    private init(_ opening: Opening) {
        (access, options) = (opening.access, opening.options)
        changes = DatabaseChanges(opening.access.hub)
        companionRunners = opening.companionRunners
    }

    private nonisolated func attach() async throws {
        let changes = changes
        try await access.runner.withWriter { db in
            db.add(transactionObserver: changes, extent: .observerLifetime)
        }
    }

    nonisolated func detach() async throws {
        access.hub.close()
        let changes = changes
        try await access.runner.withWriter { db in db.remove(transactionObserver: changes) }
    }
}

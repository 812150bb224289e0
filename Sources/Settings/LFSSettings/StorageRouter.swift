public import GRDB
import LFSDatabase
import LFSSystem

/// An actor that reads and writes the settings of one database, each by its key.
///
/// ```swift
/// let storage = try await StorageRouter.open(database, catalogs: [catalog])
/// let wifi = try await storage.get(.backupRequiresWiFi)
/// ```
///
/// It only connects the parts and holds the state of ``run()``, so calls do not wait for each other. Reading, writing
/// and observing changes of this process work without ``run()``. Only changes of other processes and devices need
/// ``run()`` or ``start()``. Several routers, in one process or in several, may use the same database.
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

    /// Opens the settings of a database whose migrations have run (`registerLFSSettingsMigrations()`). The call
    /// finishes the work that a crash interrupted, and migrates values of earlier versions of the app.
    ///
    /// A missing root key, key chain or folder does not fail the call. Each later call that needs it throws the error,
    /// and other settings stay usable. A catalog whose data could not be migrated to its version does not fail the call
    /// either. Its keys throw ``SettingsError/Code/migrationFailed`` until a later open, and can be removed.
    ///
    /// - Parameters:
    ///   - database: the app's own database.
    ///   - catalogs: all keys that will be used. A name must not occur in two of them.
    ///   - options: options such as the stores of secrets and the root key.
    /// - Throws: ``SettingsError``. The codes about the database are ``SettingsError/Code/notMigrated`` and
    ///   ``SettingsError/Code/newerSchema``. Those about the catalogs are ``SettingsError/Code/duplicate``,
    ///   ``SettingsError/Code/invalidName``, ``SettingsError/Code/illegalPair``, ``SettingsError/Code/invalidStep``,
    ///   ``SettingsError/Code/notConfigured`` and ``SettingsError/Code/notConfidential``. The code about the data is
    ///   ``SettingsError/Code/newerData``.
    public static func open(
        _ database: any DatabaseWriter, catalogs: [StorageCatalog], options: StorageOptions = StorageOptions()
    ) async throws -> StorageRouter {
        try await SettingsError.catching(nil) {
            let opening = try await RouterOpening(database, catalogs: catalogs, options: options)
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

    private init(_ opening: RouterOpening) {
        access = opening.access
        options = opening.options
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

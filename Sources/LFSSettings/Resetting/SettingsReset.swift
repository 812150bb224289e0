import GRDB
import LFSDatabase

/// Removes all values: those in the database within the host's transaction, and then the others.
struct SettingsReset: Sendable {
    let runner: BackgroundRunner
    let stores: StoreSet

    /// Values, data keys, and the note that files and secrets follow. What says which catalogs and migrations are done
    /// stays, so that nothing of an earlier version comes back.
    static func begin(_ db: Database) throws {
        try SettingTable.removeAll(db)
        try SettingKeyTable.removeAll(db)
        try SettingsStateTable.setResetting(true, db)
    }

    /// Removes what is left beside the database, if a reset is noted. It may be repeated at any point.
    func finish() async throws {
        guard try await runner.read(SettingsStateTable.read).isResetting else { return }
        // What goes now must not come back with a commit that a power cut takes back.
        try await runner.writeDurably { _ in }
        for store in try await stores.beside() { try await store.removeAll() }
        try await runner.writeDurably { db in try SettingsStateTable.setResetting(false, db) }
    }
}

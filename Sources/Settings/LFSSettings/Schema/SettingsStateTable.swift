import Foundation
import GRDB
import LFSSystem

/// `lfs_setting_state`: the single row with the state that concerns all settings.
enum SettingsStateTable {
    static let name = "lfs_setting_state"

    struct State: Sendable {
        let installID: FileID
        let keychain: String?
        let rootKeyNote: Data?
        /// The number of removals of all values.
        let resetCount: Int64
        let isResettingFiles: Bool
        let isResettingKeychain: Bool
    }

    /// - Throws: ``SettingsError/Code/notMigrated``, ``SettingsError/Code/newerSchema``,
    ///   ``SettingsError/Code/corrupted``.
    static func read(_ db: Database) throws -> State {
        guard try db.tableExists(name),
            let row = try Row.fetchOne(try db.cachedStatement(sql: "SELECT * FROM main.lfs_setting_state")),
            let version = Int.fromDatabaseValue(row["schemaVersion"]), version >= SettingsSchema.version
        else {
            throw SettingsError(
                .notMigrated,
                message: """
                    The database does not have all tables of LFSSettings. Call registerLFSSettingsMigrations() on its \
                    DatabaseMigrator and migrate before opening the router.
                    """)
        }
        guard version <= SettingsSchema.version else {
            throw SettingsError(
                .newerSchema,
                message: """
                    The settings were written by a newer LFSSettings (schema \(version); this one knows \
                    \(SettingsSchema.version)). Update the app.
                    """)
        }
        // The id becomes part of folder names, so only a valid id is accepted.
        guard let installID = FileID.fromDatabaseValue(row["installID"]) else {
            throw SettingsError(
                .corrupted,
                message: """
                    The installID in lfs_setting_state is not a valid id. Another program has written it. Restore the \
                    database from a backup.
                    """)
        }
        return State(
            installID: installID, keychain: String.fromDatabaseValue(row["keychain"]),
            rootKeyNote: Data.fromDatabaseValue(row["rootKeyNote"]),
            resetCount: Int64.fromDatabaseValue(row["resetCount"]) ?? 0,
            isResettingFiles: Bool.fromDatabaseValue(row["isResettingFiles"]) ?? false,
            isResettingKeychain: Bool.fromDatabaseValue(row["isResettingKeychain"]) ?? false)
    }

    /// Increments a counter, so that SQLite syncs the commit. A transaction without changes would not be synced.
    static func touch(_ db: Database) throws {
        try db.execute(sql: "UPDATE main.lfs_setting_state SET barrier = barrier + 1")
    }

    /// - Parameter kind: the key chain that has the sentinel, or nil for none.
    static func noteKeychain(_ kind: String?, _ db: Database) throws {
        try db.execute(sql: "UPDATE main.lfs_setting_state SET keychain = ?", arguments: [kind])
    }

    static func noteRootKey(_ note: Data?, _ db: Database) throws {
        try db.execute(sql: "UPDATE main.lfs_setting_state SET rootKeyNote = ?", arguments: [note])
    }

    /// The column that only ``beginReset(_:)`` changes.
    static let resetColumn = "resetCount"

    static func beginReset(_ db: Database) throws {
        try db.execute(
            sql: """
                UPDATE main.lfs_setting_state
                SET resetCount = resetCount + 1, isResettingFiles = 1, isResettingKeychain = keychain IS NOT NULL
                """)
    }

    /// - Returns: false if another removal was started after the count was read. Nothing is changed then.
    static func endReset(_ count: Int64, of place: ResetPlace, _ db: Database) throws -> Bool {
        let column = place == .files ? "isResettingFiles" : "isResettingKeychain"
        try db.execute(
            sql: "UPDATE main.lfs_setting_state SET \(column) = 0 WHERE resetCount = ?", arguments: [count])
        return db.changesCount > 0
    }
}

/// A place with values outside the database, which a removal of all values has to clear.
///
/// Each place is cleared independently. A router without a key chain finishes the removal of files, and leaves the
/// secrets to a router that has one.
enum ResetPlace: Sendable, CaseIterable {
    case files, keychain
    /// The memory of a router. Each router has its own.
    case memory
}

import Foundation
import GRDB
import LFSSystem

/// `lfs_setting_state`: the one row in which the database says what concerns all settings.
enum SettingsStateTable {
    static let name = "lfs_setting_state"

    struct State: Sendable {
        let installID: FileID
        let appVersion: String?
        let keychain: String?
        let rootKeyNote: Data?
        let isResetting: Bool
    }

    /// - Throws: ``SettingsError/Code/notMigrated``, ``SettingsError/Code/newerSchema``,
    ///   ``SettingsError/Code/corrupted``.
    static func read(_ db: Database) throws -> State {
        guard try db.tableExists(name),
            let row = try Row.fetchOne(try db.cachedStatement(sql: "SELECT * FROM main.lfs_setting_state"))
        else {
            throw SettingsError(
                .notMigrated,
                """
                The database has no tables of LFSSettings. Call registerLFSSettingsMigrations() on its \
                DatabaseMigrator and migrate before opening the router.
                """)
        }
        let version = Int.fromDatabaseValue(row["schemaVersion"]) ?? 0
        guard version <= SettingsSchema.version else {
            throw SettingsError(
                .newerSchema,
                """
                The settings were written by a newer LFSSettings (schema \(version); this one knows \
                \(SettingsSchema.version)). Update the app.
                """)
        }
        // It becomes part of names of folders, so nothing but an id is taken.
        guard let installID = FileID.fromDatabaseValue(row["installID"]) else {
            throw SettingsError(
                .corrupted,
                """
                The installID in lfs_setting_state is none that LFSSettings makes: another program has written it. \
                Put the database back from a backup.
                """)
        }
        return State(
            installID: installID, appVersion: String.fromDatabaseValue(row["appVersion"]),
            keychain: String.fromDatabaseValue(row["keychain"]),
            rootKeyNote: Data.fromDatabaseValue(row["rootKeyNote"]),
            isResetting: Bool.fromDatabaseValue(row["isResetting"]) ?? false)
    }

    /// Changes the row in a way that means nothing, so that the commit is synced.
    static func touch(_ db: Database) throws {
        try db.execute(sql: "UPDATE main.lfs_setting_state SET barrier = barrier + 1")
    }

    static func noteAppVersion(_ version: String, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE main.lfs_setting_state SET appVersion = ?1 WHERE appVersion IS NOT ?1", arguments: [version])
    }

    /// - Parameter kind: the key chain that has the sentinel; nil for none.
    static func noteKeychain(_ kind: String?, _ db: Database) throws {
        try db.execute(sql: "UPDATE main.lfs_setting_state SET keychain = ?", arguments: [kind])
    }

    static func noteRootKey(_ note: Data?, _ db: Database) throws {
        try db.execute(sql: "UPDATE main.lfs_setting_state SET rootKeyNote = ?", arguments: [note])
    }

    static func setResetting(_ isResetting: Bool, _ db: Database) throws {
        try db.execute(sql: "UPDATE main.lfs_setting_state SET isResetting = ?", arguments: [isResetting])
    }
}

public import GRDB
import LFSSystem

extension DatabaseMigrator {
    /// Registers the migrations of the tables that settings need. They do not depend on other migrations.
    public mutating func registerLFSSettingsMigrations() {
        for (identifier, migrate) in SettingsSchema.migrations {
            registerMigration(identifier) { db in try migrate(db) }
        }
    }
}

enum SettingsSchema {
    static let version = 2
    static let migrations: [(identifier: String, migrate: @Sendable (Database) throws -> Void)] = [
        ("lfsSettings.v1", create), ("lfsSettings.v2", addIsTaken),
    ]

    @Sendable private static func create(_ db: Database) throws {
        try db.execute(sql: tables)
        try db.execute(
            sql: "INSERT INTO lfs_setting_state (id, schemaVersion, installID) VALUES (1, ?, ?)",
            arguments: [1, FileID.make().text])
    }

    @Sendable private static func addIsTaken(_ db: Database) throws {
        try db.execute(
            sql: """
                -- 1 for a row whose value was accepted from another device.
                ALTER TABLE lfs_setting ADD COLUMN isTaken INTEGER NOT NULL DEFAULT 0
                    CHECK (isTaken = 0 OR isTaken = 1);
                UPDATE lfs_setting_state SET schemaVersion = 2;
                """)
    }

    /// The SQL of the tables. Other programs may write rows too, so each column checks its values, and readers trust
    /// none of them.
    ///
    /// Observed tables have row ids, because SQLite does not call the update hook for tables without them.
    private static let tables = """
        CREATE TABLE lfs_setting (
            name TEXT PRIMARY KEY NOT NULL CHECK (typeof(name) = 'text'),
            -- The serialized value, or an envelope that contains it.
            value BLOB NOT NULL CHECK (typeof(value) = 'blob'),
            -- The id of the serializer, and its version at the time of the write.
            serializer TEXT NOT NULL CHECK (typeof(serializer) = 'text'),
            version INTEGER NOT NULL CHECK (typeof(version) = 'integer'),
            -- A UUID of version 7 for each write. Of two devices' values, the later one wins.
            updateID TEXT NOT NULL CHECK (typeof(updateID) = 'text'),
            -- Milliseconds since 1970.
            updatedAt INTEGER NOT NULL CHECK (typeof(updatedAt) = 'integer'),
            -- 1 for the removed value of a synced key, so that other devices learn of the removal.
            isRemoved INTEGER NOT NULL DEFAULT 0 CHECK (isRemoved = 0 OR isRemoved = 1)
        );

        CREATE TABLE lfs_setting_state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            schemaVersion INTEGER NOT NULL CHECK (typeof(schemaVersion) = 'integer'),
            -- Connects secrets and files in other places to this database.
            installID TEXT NOT NULL CHECK (typeof(installID) = 'text'),
            -- The key chain that contains this database's sentinel. NULL before the first secret.
            keychain TEXT CHECK (keychain IS NULL OR typeof(keychain) = 'text'),
            -- Data that the source of the root key keeps, such as the salt of a passphrase. It is not secret.
            rootKeyNote BLOB CHECK (rootKeyNote IS NULL OR typeof(rootKeyNote) = 'blob'),
            -- The number of full resets.
            resetCount INTEGER NOT NULL DEFAULT 0 CHECK (typeof(resetCount) = 'integer'),
            -- 1 after a reset has deleted the rows, until it has deleted the files or the secrets.
            isResettingFiles INTEGER NOT NULL DEFAULT 0 CHECK (isResettingFiles = 0 OR isResettingFiles = 1),
            isResettingKeychain INTEGER NOT NULL DEFAULT 0 CHECK (isResettingKeychain = 0 OR isResettingKeychain = 1),
            -- Incremented so that SQLite syncs a commit to the disk.
            barrier INTEGER NOT NULL DEFAULT 0
        );

        -- The data keys, each encrypted with the root key. One is current. The others decrypt older values.
        CREATE TABLE lfs_setting_key (
            id TEXT PRIMARY KEY NOT NULL CHECK (typeof(id) = 'text'),
            wrapped BLOB NOT NULL CHECK (typeof(wrapped) = 'blob'),
            state TEXT NOT NULL CHECK (state = 'current' OR state = 'retired'),
            createdAt INTEGER NOT NULL CHECK (typeof(createdAt) = 'integer')
        );
        CREATE UNIQUE INDEX lfs_setting_key_current ON lfs_setting_key(state) WHERE state = 'current';

        CREATE TABLE lfs_setting_catalog (
            name TEXT PRIMARY KEY NOT NULL CHECK (typeof(name) = 'text'),
            version INTEGER NOT NULL CHECK (typeof(version) = 'integer'),
            -- The version of the app that has written the data. NULL until an app states its version.
            appVersion TEXT CHECK (appVersion IS NULL OR typeof(appVersion) = 'text')
        );

        -- Folders with values: their paths, or placeholders for folders that move with the database.
        CREATE TABLE lfs_setting_folder (
            folder TEXT PRIMARY KEY NOT NULL CHECK (typeof(folder) = 'text')
        );

        -- Keys whose value was migrated from an earlier place.
        CREATE TABLE lfs_setting_migration (
            name TEXT PRIMARY KEY NOT NULL CHECK (typeof(name) = 'text'),
            -- The sources that still have to be removed, one per line. NULL once they are removed.
            sources TEXT CHECK (sources IS NULL OR typeof(sources) = 'text'),
            migratedAt INTEGER NOT NULL CHECK (typeof(migratedAt) = 'integer')
        );
        """
}

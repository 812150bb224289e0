public import GRDB
import LFSSystem

extension DatabaseMigrator {
    /// Registers the migrations of the tables that settings need. They depend on no other migration.
    public mutating func registerLFSSettingsMigrations() {
        for (identifier, migrate) in SettingsSchema.migrations {
            registerMigration(identifier) { db in try migrate(db) }
        }
    }
}

/// What settings keep in the host's database.
enum SettingsSchema {
    /// The version that this code reads and writes.
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
                -- 1 for a row that is as another device has set it.
                ALTER TABLE lfs_setting ADD COLUMN isTaken INTEGER NOT NULL DEFAULT 0
                    CHECK (isTaken = 0 OR isTaken = 1);
                UPDATE lfs_setting_state SET schemaVersion = 2;
                """)
    }

    /// Rows come from other programs as well, so each column says what it takes. What reads them trusts none of it.
    ///
    /// Tables that are observed have row ids: SQLite's update hook is not called for others.
    private static let tables = """
        CREATE TABLE lfs_setting (
            name TEXT PRIMARY KEY NOT NULL CHECK (typeof(name) = 'text'),
            -- The serialized value, or an envelope around it.
            value BLOB NOT NULL CHECK (typeof(value) = 'blob'),
            -- The id of the serializer, and the version that it had.
            serializer TEXT NOT NULL CHECK (typeof(serializer) = 'text'),
            version INTEGER NOT NULL CHECK (typeof(version) = 'integer'),
            -- A UUID of version 7 for each write; of two devices' values the later one counts.
            updateID TEXT NOT NULL CHECK (typeof(updateID) = 'text'),
            -- Milliseconds since 1970.
            updatedAt INTEGER NOT NULL CHECK (typeof(updatedAt) = 'integer'),
            -- 1 for a removed value of a key that other devices share, so that they hear of it.
            isRemoved INTEGER NOT NULL DEFAULT 0 CHECK (isRemoved = 0 OR isRemoved = 1)
        );

        CREATE TABLE lfs_setting_state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            schemaVersion INTEGER NOT NULL CHECK (typeof(schemaVersion) = 'integer'),
            -- What ties secrets and files elsewhere to this database.
            installID TEXT NOT NULL CHECK (typeof(installID) = 'text'),
            -- The key chain that has a sentinel of this database; NULL before the first secret.
            keychain TEXT CHECK (keychain IS NULL OR typeof(keychain) = 'text'),
            -- What the source of the root key wants to have kept, such as the salt of a passphrase. No secret.
            rootKeyNote BLOB CHECK (rootKeyNote IS NULL OR typeof(rootKeyNote) = 'blob'),
            -- How often everything was removed.
            resetCount INTEGER NOT NULL DEFAULT 0 CHECK (typeof(resetCount) = 'integer'),
            -- 1 while the rows of a removal are gone, and the files or the secrets are still to go.
            isResettingFiles INTEGER NOT NULL DEFAULT 0 CHECK (isResettingFiles = 0 OR isResettingFiles = 1),
            isResettingKeychain INTEGER NOT NULL DEFAULT 0 CHECK (isResettingKeychain = 0 OR isResettingKeychain = 1),
            -- Counted up so that a commit is synced.
            barrier INTEGER NOT NULL DEFAULT 0
        );

        -- The data keys, each wrapped by the root key. One of them is current, the others open what they have closed.
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
            -- The version of the app that has written the data; NULL before the first one that said it.
            appVersion TEXT CHECK (appVersion IS NULL OR typeof(appVersion) = 'text')
        );

        -- Folders with values: their paths, or what stands for one that moves with the database.
        CREATE TABLE lfs_setting_folder (
            folder TEXT PRIMARY KEY NOT NULL CHECK (typeof(folder) = 'text')
        );

        -- Keys whose value was taken over from an earlier place.
        CREATE TABLE lfs_setting_migration (
            name TEXT PRIMARY KEY NOT NULL CHECK (typeof(name) = 'text'),
            -- The sources that are still to go, a line each; NULL once they are gone.
            sources TEXT CHECK (sources IS NULL OR typeof(sources) = 'text'),
            migratedAt INTEGER NOT NULL CHECK (typeof(migratedAt) = 'integer')
        );
        """
}

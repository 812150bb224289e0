import Foundation
public import GRDB
import LFSFiles
import LFSSystem

extension DatabaseMigrator {
    /// Registers the tables, indexes and triggers of LFS, all of them named `lfs_…`.
    ///
    /// Call it where the app registers its own migrations, before those that refer to `lfs_file`, and migrate
    /// before ``LFSManager/open(_:options:)``. Later versions of LFS add migrations behind the ones that ran.
    public mutating func registerLFSMigrations() {
        for (identifier, migrate) in Schema.migrations {
            registerMigration(identifier) { db in try migrate(db) }
        }
    }
}

/// What LFS keeps in the host's database.
enum Schema {
    /// The version that this code reads and writes; `lfs_state.schemaVersion` says what a database has.
    static let version = 2
    /// Every migration, in its order.
    static let migrations: [(identifier: String, migrate: @Sendable (Database) throws -> Void)] = [
        ("lfs.v1", create), ("lfs.v2", addAfterUpload),
    ]
    /// What the identifiers of all LFS migrations begin with.
    static let migrationPrefix = "lfs."

    @Sendable static func create(_ db: Database) throws {
        try db.execute(sql: tables)
        for trigger in Triggers.all { try db.execute(sql: trigger) }
        let databaseID = FileID.make().text
        try db.execute(
            sql: "INSERT INTO lfs_state (id, databaseID, namespace, schemaVersion) VALUES (1, ?, ?, ?)",
            arguments: [databaseID, namespace(of: databaseID), 1])
    }

    /// The first part of this database's object keys: half of a SHA-256, so that keys spread over a bucket.
    static func namespace(of databaseID: String) -> String {
        String(ContentHash.hex(ofText: databaseID).prefix(32))
    }

    private static let tables = """
        CREATE TABLE lfs_state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            databaseID TEXT NOT NULL,
            namespace TEXT NOT NULL,
            schemaVersion INTEGER NOT NULL,
            updateMillisecond INTEGER NOT NULL DEFAULT 0,
            updateSequence INTEGER NOT NULL DEFAULT 0,
            barrier INTEGER NOT NULL DEFAULT 0,
            -- How often the database was opened; lfs.json beside it has the same number, or an older one.
            generation INTEGER NOT NULL DEFAULT 0,
            -- Files made before this millisecond are not swept: an older copy of the database does not know them.
            sweepsFrom INTEGER NOT NULL DEFAULT 0,
            -- While the storage as a whole is away or refuses us: a code of StorageError, its message, and since when in
            -- milliseconds since 1970.
            outageCode TEXT,
            outageMessage TEXT,
            outageSince INTEGER
        );

        CREATE TABLE lfs_file (
            id TEXT PRIMARY KEY NOT NULL CHECK (length(id) = 36 AND id NOT GLOB '*[^0-9a-f-]*'),
            status TEXT NOT NULL CHECK (status IN ('local', 'remote')),
            url TEXT,
            -- What the storage vouches for: the bytes, or their number alone. NULL where nobody here has asked it.
            proof TEXT CHECK (proof IN ('checksum', 'byteCount')),
            name TEXT,
            contentType TEXT,
            byteCount INTEGER NOT NULL CHECK (byteCount >= 0),
            sha256 TEXT NOT NULL CHECK (length(sha256) = 64 AND sha256 NOT GLOB '*[^0-9a-f]*'),
            key TEXT NOT NULL,
            createdAt DATETIME NOT NULL,
            updateID TEXT NOT NULL DEFAULT '',
            CHECK (status = 'local' OR url IS NOT NULL)
        );
        CREATE INDEX lfs_file_updateID ON lfs_file(updateID);

        -- What concerns this device only: the queue of uploads.
        CREATE TABLE lfs_job (
            fileID TEXT PRIMARY KEY NOT NULL,
            state TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'failed', 'cancelled')),
            lane INTEGER NOT NULL,
            byteCount INTEGER NOT NULL,
            attempts INTEGER NOT NULL DEFAULT 0,
            notBefore INTEGER NOT NULL,
            errorCode TEXT,
            errorMessage TEXT,
            checkpoint BLOB,
            -- What failed tries have sent in a day that began at this millisecond since 1970.
            sentBytes INTEGER NOT NULL DEFAULT 0,
            sentSince INTEGER NOT NULL DEFAULT 0,
            -- Whether the object that is there is known or suspected to be damaged.
            replacesObject INTEGER NOT NULL DEFAULT 0 CHECK (replacesObject IN (0, 1))
        );
        CREATE INDEX lfs_job_due ON lfs_job(state, lane, notBefore, fileID);

        -- Files that were deleted and whose bytes still have to go.
        CREATE TABLE lfs_tombstone (
            fileID TEXT PRIMARY KEY NOT NULL,
            key TEXT NOT NULL,
            state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'removing')),
            attempts INTEGER NOT NULL DEFAULT 0,
            notBefore INTEGER NOT NULL DEFAULT 0,
            errorMessage TEXT,
            checkpoint BLOB
        );
        CREATE INDEX lfs_tombstone_due ON lfs_tombstone(notBefore, fileID);

        -- Every persistence location in use, so that a later start without the option still finds the bytes.
        CREATE TABLE lfs_location (
            path TEXT PRIMARY KEY NOT NULL
        );
        """
}

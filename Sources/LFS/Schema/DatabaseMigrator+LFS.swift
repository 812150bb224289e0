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

    /// Whether a column has a date: a text, or seconds since 1970 up to the end of the year 9999.
    static func isDate(_ column: String) -> String {
        """
        CASE typeof(\(column)) WHEN 'text' THEN julianday(\(column)) IS NOT NULL WHEN 'blob' THEN 0
            ELSE \(column) BETWEEN -62167219200 AND 253402300799 END
        """
    }

    /// The first part of this database's object keys: half of a SHA-256, so that keys spread over a bucket.
    static func namespace(of databaseID: String) -> String {
        String(ContentHash.hex(ofText: databaseID).prefix(32))
    }

    /// Rows come from other programs as well, so each column says what it takes. What reads them trusts none of it.
    private static let tables = """
        CREATE TABLE lfs_state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            databaseID TEXT NOT NULL CHECK (typeof(databaseID) = 'text'),
            namespace TEXT NOT NULL CHECK (typeof(namespace) = 'text'),
            schemaVersion INTEGER NOT NULL CHECK (typeof(schemaVersion) = 'integer'),
            updateMillisecond INTEGER NOT NULL DEFAULT 0 CHECK (typeof(updateMillisecond) = 'integer'),
            updateSequence INTEGER NOT NULL DEFAULT 0 CHECK (typeof(updateSequence) = 'integer'),
            barrier INTEGER NOT NULL DEFAULT 0,
            -- How often the database was opened; lfs.json beside it has the same number, or an older one.
            generation INTEGER NOT NULL DEFAULT 0 CHECK (typeof(generation) = 'integer' AND generation >= 0),
            -- Files made before this millisecond are not swept: an older copy of the database does not know them.
            sweepsFrom INTEGER NOT NULL DEFAULT 0 CHECK (typeof(sweepsFrom) = 'integer'),
            -- While the storage as a whole is away or refuses us: a code of StorageError, its message, and since when in
            -- milliseconds since 1970.
            outageCode TEXT CHECK (typeof(outageCode) IN ('text', 'null')),
            outageMessage TEXT CHECK (typeof(outageMessage) IN ('text', 'null')),
            outageSince INTEGER CHECK (typeof(outageSince) IN ('integer', 'null'))
        );

        CREATE TABLE lfs_file (
            id TEXT PRIMARY KEY NOT NULL
                CHECK (typeof(id) = 'text' AND length(id) = 36 AND id NOT GLOB '*[^0-9a-f-]*'),
            status TEXT NOT NULL CHECK (status IN ('local', 'remote')),
            url TEXT CHECK (url IS NULL OR typeof(url) = 'text' AND url <> ''),
            -- What the storage vouches for: the bytes, or their number alone. NULL where nobody here has asked it.
            proof TEXT CHECK (proof IN ('checksum', 'byteCount')),
            name TEXT CHECK (typeof(name) IN ('text', 'null')),
            contentType TEXT CHECK (typeof(contentType) IN ('text', 'null')),
            byteCount INTEGER NOT NULL
                CHECK (typeof(byteCount) = 'integer' AND byteCount BETWEEN 0 AND \(FileData.largestByteCount)),
            sha256 TEXT NOT NULL
                CHECK (typeof(sha256) = 'text' AND length(sha256) = 64 AND sha256 NOT GLOB '*[^0-9a-f]*'),
            key TEXT NOT NULL CHECK (typeof(key) = 'text'),
            createdAt DATETIME NOT NULL CHECK (\(isDate("createdAt"))),
            updateID TEXT NOT NULL DEFAULT '' CHECK (typeof(updateID) = 'text'),
            CHECK (status = 'local' OR url IS NOT NULL)
        );
        CREATE INDEX lfs_file_updateID ON lfs_file(updateID);

        -- What concerns this device only: the queue of uploads.
        CREATE TABLE lfs_job (
            fileID TEXT PRIMARY KEY NOT NULL CHECK (typeof(fileID) = 'text'),
            state TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'failed', 'cancelled')),
            lane INTEGER NOT NULL CHECK (lane IN (0, 1)),
            byteCount INTEGER NOT NULL CHECK (typeof(byteCount) = 'integer'),
            attempts INTEGER NOT NULL DEFAULT 0 CHECK (typeof(attempts) = 'integer' AND attempts >= 0),
            notBefore INTEGER NOT NULL CHECK (typeof(notBefore) = 'integer'),
            errorCode TEXT CHECK (typeof(errorCode) IN ('text', 'null')),
            errorMessage TEXT CHECK (typeof(errorMessage) IN ('text', 'null')),
            checkpoint BLOB CHECK (typeof(checkpoint) IN ('blob', 'null')),
            -- What failed tries have sent in a day that began at this millisecond since 1970.
            sentBytes INTEGER NOT NULL DEFAULT 0 CHECK (typeof(sentBytes) = 'integer' AND sentBytes >= 0),
            sentSince INTEGER NOT NULL DEFAULT 0 CHECK (typeof(sentSince) = 'integer'),
            -- Whether the object that is there is known or suspected to be damaged.
            replacesObject INTEGER NOT NULL DEFAULT 0 CHECK (replacesObject IN (0, 1))
        );
        CREATE INDEX lfs_job_due ON lfs_job(state, lane, notBefore, fileID);

        -- Files that were deleted and whose bytes still have to go.
        CREATE TABLE lfs_tombstone (
            fileID TEXT PRIMARY KEY NOT NULL CHECK (typeof(fileID) = 'text'),
            key TEXT NOT NULL CHECK (typeof(key) = 'text'),
            state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'removing')),
            attempts INTEGER NOT NULL DEFAULT 0 CHECK (typeof(attempts) = 'integer' AND attempts >= 0),
            notBefore INTEGER NOT NULL DEFAULT 0 CHECK (typeof(notBefore) = 'integer'),
            errorMessage TEXT CHECK (typeof(errorMessage) IN ('text', 'null')),
            checkpoint BLOB CHECK (typeof(checkpoint) IN ('blob', 'null'))
        );
        CREATE INDEX lfs_tombstone_due ON lfs_tombstone(notBefore, fileID);

        -- Every persistence location in use, so that a later start without the option still finds the bytes.
        CREATE TABLE lfs_location (
            path TEXT PRIMARY KEY NOT NULL CHECK (typeof(path) = 'text')
        );
        """
}

package import GRDB
import LFSSystem

/// What LFS keeps in the host's database.
package enum Schema {
    /// The version that this code reads and writes; `lfs_state.schemaVersion` says what a database has.
    static let version = 2
    /// Every migration, in its order.
    static let migrations: [(identifier: String, migrate: @Sendable (Database) throws -> Void)] = [
        ("lfs.v1", create), ("lfs.v2", addSources),
    ]
    /// What the identifiers of all LFS migrations begin with.
    static let migrationPrefix = "lfs.v"

    package static func register(in migrator: inout DatabaseMigrator) {
        for (identifier, migrate) in migrations {
            migrator.registerMigration(identifier) { db in try migrate(db) }
        }
    }

    @Sendable private static func create(_ db: Database) throws {
        try db.execute(sql: tables)
        for trigger in Triggers.all { try db.execute(sql: trigger) }
        let databaseID = FileID.make()
        try db.execute(
            sql: "INSERT INTO lfs_state (id, databaseID, namespace, schemaVersion) VALUES (1, ?, ?, 1)",
            arguments: [databaseID, Namespace(ofDatabase: databaseID.text).text])
    }

    /// Forgets what was between two triggers of an `INSERT OR REPLACE`.
    static func removeReplaced(_ db: Database) throws { try db.execute(sql: "DELETE FROM lfs_replaced") }

    /// Rows come from other programs as well, so each column says what it takes. What reads them trusts none of it.
    /// No CHECK has an `IN`: within a trigger SQLite makes a temporary table for it each time.
    ///
    /// Tables that somebody observes have row ids: SQLite's update hook, by which GRDB observes, is not called for
    /// others.
    private static let tables = """
        -- What the database says of itself.
        CREATE TABLE lfs_state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            databaseID TEXT NOT NULL CHECK (typeof(databaseID) = 'text'),
            namespace TEXT NOT NULL CHECK (typeof(namespace) = 'text'),
            schemaVersion INTEGER NOT NULL CHECK (typeof(schemaVersion) = 'integer'),
            -- Of the last updateID that was given.
            updateMillisecond INTEGER NOT NULL DEFAULT 0 CHECK (typeof(updateMillisecond) = 'integer'),
            updateSequence INTEGER NOT NULL DEFAULT 0 CHECK (typeof(updateSequence) = 'integer'),
            barrier INTEGER NOT NULL DEFAULT 0,
            -- How often the database was opened; lfs.json beside it has the same number, or an older one.
            generation INTEGER NOT NULL DEFAULT 0 CHECK (typeof(generation) = 'integer' AND generation >= 0),
            -- Files made before this millisecond are not swept: an older copy of the database does not know them.
            sweepsFrom INTEGER NOT NULL DEFAULT 0 CHECK (typeof(sweepsFrom) = 'integer'),
            -- While the storage as a whole is away or refuses us: a code of StorageError, its message, and since when
            -- in milliseconds since 1970.
            outageCode TEXT CHECK (outageCode IS NULL OR typeof(outageCode) = 'text'),
            outageMessage TEXT CHECK (outageMessage IS NULL OR typeof(outageMessage) = 'text'),
            outageSince INTEGER CHECK (outageSince IS NULL OR typeof(outageSince) = 'integer'),
            -- Whether the rows are gone and their bytes are still to go: see LFSManager.reset.
            isResetting INTEGER NOT NULL DEFAULT 0 CHECK (isResetting = 0 OR isResetting = 1),
            -- Files made before this millisecond go with it. Younger ones are there when a backup from its middle is
            -- put back.
            resetBefore INTEGER NOT NULL DEFAULT 9223372036854775807,
            -- 1 only within a transaction that writes rows which came from a server: see StateTable.applying.
            isApplying INTEGER NOT NULL DEFAULT 0 CHECK (isApplying = 0 OR isApplying = 1),
            -- Whether a deletion waits for a server's answer before anything is removed.
            holdsDeletions INTEGER NOT NULL DEFAULT 0 CHECK (holdsDeletions = 0 OR holdsDeletions = 1)
        );

        -- The files, as every device knows them.
        CREATE TABLE lfs_file (
            id TEXT PRIMARY KEY NOT NULL
                CHECK (typeof(id) = 'text' AND length(CAST(id AS BLOB)) = 36 AND id NOT GLOB '*[^0-9a-f-]*'),
            status TEXT NOT NULL CHECK (status = 'local' OR status = 'remote'),
            url TEXT CHECK (url IS NULL OR typeof(url) = 'text' AND url <> ''),
            -- What the storage vouches for: the bytes, or their number alone. NULL where nobody here has asked it.
            proof TEXT CHECK (proof = 'checksum' OR proof = 'byteCount'),
            name TEXT CHECK (name IS NULL OR typeof(name) = 'text'),
            contentType TEXT CHECK (contentType IS NULL OR typeof(contentType) = 'text'),
            byteCount INTEGER NOT NULL
                CHECK (typeof(byteCount) = 'integer' AND byteCount BETWEEN 0 AND \(FileRow.byteCounts.upperBound)),
            sha256 TEXT NOT NULL
                CHECK (
                    typeof(sha256) = 'text' AND length(CAST(sha256 AS BLOB)) = 64 AND sha256 NOT GLOB '*[^0-9a-f]*'),
            crc64 TEXT CHECK (crc64 IS NULL OR typeof(crc64) = 'text'),
            key TEXT NOT NULL CHECK (typeof(key) = 'text'),
            createdAt DATETIME NOT NULL CHECK (\(FileRow.isDate("createdAt"))),
            updateID TEXT NOT NULL DEFAULT '' CHECK (typeof(updateID) = 'text'),
            CHECK (status = 'local' OR url IS NOT NULL)
        );
        CREATE INDEX lfs_file_updateID ON lfs_file(updateID);

        -- From here on what concerns this device only. The queue of uploads, and notes of what cannot be uploaded or
        -- read.
        CREATE TABLE lfs_job (
            fileID TEXT PRIMARY KEY NOT NULL CHECK (typeof(fileID) = 'text'),
            state TEXT NOT NULL DEFAULT 'queued' CHECK (state = 'queued' OR state = 'failed' OR state = 'cancelled'),
            lane INTEGER NOT NULL CHECK (lane = 0 OR lane = 1),
            byteCount INTEGER NOT NULL CHECK (typeof(byteCount) = 'integer'),
            attempts INTEGER NOT NULL DEFAULT 0 CHECK (typeof(attempts) = 'integer' AND attempts >= 0),
            notBefore INTEGER NOT NULL CHECK (typeof(notBefore) = 'integer'),
            errorCode TEXT CHECK (errorCode IS NULL OR typeof(errorCode) = 'text'),
            errorMessage TEXT CHECK (errorMessage IS NULL OR typeof(errorMessage) = 'text'),
            checkpoint BLOB CHECK (checkpoint IS NULL OR typeof(checkpoint) = 'blob'),
            -- What failed tries have sent in a day that began at this millisecond since 1970.
            sentBytes INTEGER NOT NULL DEFAULT 0 CHECK (typeof(sentBytes) = 'integer' AND sentBytes >= 0),
            sentSince INTEGER NOT NULL DEFAULT 0 CHECK (typeof(sentSince) = 'integer'),
            -- Whether the object that is there is known or suspected to be damaged.
            replacesObject INTEGER NOT NULL DEFAULT 0 CHECK (replacesObject = 0 OR replacesObject = 1)
        );
        CREATE INDEX lfs_job_due ON lfs_job(state, lane, notBefore, fileID);

        -- Files that were deleted and whose bytes still have to go.
        CREATE TABLE lfs_tombstone (
            fileID TEXT PRIMARY KEY NOT NULL CHECK (typeof(fileID) = 'text'),
            key TEXT NOT NULL CHECK (typeof(key) = 'text'),
            state TEXT NOT NULL DEFAULT 'pending' CHECK (state = 'pending' OR state = 'removing'),
            attempts INTEGER NOT NULL DEFAULT 0 CHECK (typeof(attempts) = 'integer' AND attempts >= 0),
            notBefore INTEGER NOT NULL DEFAULT 0 CHECK (typeof(notBefore) = 'integer'),
            errorMessage TEXT CHECK (errorMessage IS NULL OR typeof(errorMessage) = 'text'),
            checkpoint BLOB CHECK (checkpoint IS NULL OR typeof(checkpoint) = 'blob'),
            -- Whether the object goes as well. With 0 whoever deleted the file removes it, or the server does.
            removesObject INTEGER NOT NULL DEFAULT 1 CHECK (removesObject = 0 OR removesObject = 1),
            -- Whether nothing goes yet: a server has still to accept the deletion.
            isHeld INTEGER NOT NULL DEFAULT 0 CHECK (isHeld = 0 OR isHeld = 1),
            -- What comes back when the file is inserted again before its bytes have begun to go.
            jobState TEXT,
            jobErrorCode TEXT,
            jobErrorMessage TEXT,
            jobReplacesObject INTEGER NOT NULL DEFAULT 0,
            isPinned INTEGER NOT NULL DEFAULT 0,
            -- The row of one that is held, which comes back when the server rejects the deletion; no values otherwise.
            status TEXT,
            url TEXT,
            proof TEXT,
            name TEXT,
            contentType TEXT,
            byteCount INTEGER,
            sha256 TEXT,
            crc64 TEXT,
            createdAt DATETIME,
            CHECK (isHeld = 0 OR status IS NOT NULL AND byteCount IS NOT NULL AND sha256 IS NOT NULL
                AND createdAt IS NOT NULL)
        );
        CREATE INDEX lfs_tombstone_due ON lfs_tombstone(isHeld, notBefore, fileID);

        -- Every persistence location in use, so that a later start without the option still finds the bytes.
        CREATE TABLE lfs_location (
            path TEXT PRIMARY KEY NOT NULL CHECK (typeof(path) = 'text')
        );

        -- A row only for what was used or pinned here; the local store itself says which bytes are here.
        CREATE TABLE lfs_copy (
            fileID TEXT PRIMARY KEY NOT NULL CHECK (typeof(fileID) = 'text'),
            -- Milliseconds since 1970; 0 for never.
            lastUsed INTEGER NOT NULL DEFAULT 0 CHECK (typeof(lastUsed) = 'integer'),
            isPinned INTEGER NOT NULL DEFAULT 0 CHECK (isPinned = 0 OR isPinned = 1)
        );
        CREATE INDEX lfs_copy_pinned ON lfs_copy(isPinned) WHERE isPinned = 1;

        -- Columns of the host's tables that own files, as they were named then. The id is in the names of their
        -- triggers.
        CREATE TABLE lfs_owner (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            tableName TEXT NOT NULL CHECK (typeof(tableName) = 'text'),
            columnName TEXT NOT NULL CHECK (typeof(columnName) = 'text')
        );

        -- Files that an owner has let go of, or may have: to be deleted after the commit unless something refers to
        -- them.
        CREATE TABLE lfs_disowned (
            id INTEGER PRIMARY KEY,
            fileID TEXT UNIQUE NOT NULL CHECK (typeof(fileID) = 'text'),
            attempts INTEGER NOT NULL DEFAULT 0 CHECK (typeof(attempts) = 'integer' AND attempts >= 0),
            notBefore INTEGER NOT NULL DEFAULT 0 CHECK (typeof(notBefore) = 'integer'),
            errorMessage TEXT CHECK (errorMessage IS NULL OR typeof(errorMessage) = 'text')
        );

        -- Between the two triggers of an INSERT OR REPLACE: where the file that is replaced is. What an ignored insert
        -- leaves means nothing.
        CREATE TABLE lfs_replaced (
            fileID TEXT PRIMARY KEY NOT NULL,
            url TEXT NOT NULL,
            proof TEXT
        ) WITHOUT ROWID;
        """
}

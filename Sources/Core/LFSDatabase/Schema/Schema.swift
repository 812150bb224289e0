package import GRDB
import LFSSystem

/// The tables that LFS adds to the host's database, and their migrations.
package enum Schema {
    /// The version that this code reads and writes. `lfs_state.schemaVersion` contains a database's version.
    static let version = 5
    /// All migrations in order.
    static let migrations: [(identifier: String, migrate: @Sendable (Database) throws -> Void)] = [
        ("lfs.v1", create), ("lfs.v2", addSources), ("lfs.v3", addOriginals),
        ("lfs.v4", addRelativePathsAndIndex), ("lfs.v5", addLoans),
    ]
    /// The prefix of the identifiers of all LFS migrations.
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

    /// Removes the data that the two triggers of an `INSERT OR REPLACE` exchange.
    static func removeReplaced(_ db: Database) throws { try db.execute(sql: "DELETE FROM lfs_replaced") }

    /// The tables of version 1.
    ///
    /// Other programs also write rows, so each column has a CHECK. Code that reads the rows still does not trust them.
    /// No CHECK uses `IN`, because within a trigger SQLite would create a temporary table for it each time.
    ///
    /// Observed tables have row ids. SQLite calls the update hook, which GRDB's observation uses, only for such tables.
    private static let tables = """
        -- The state of the database.
        CREATE TABLE lfs_state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            databaseID TEXT NOT NULL CHECK (typeof(databaseID) = 'text'),
            namespace TEXT NOT NULL CHECK (typeof(namespace) = 'text'),
            schemaVersion INTEGER NOT NULL CHECK (typeof(schemaVersion) = 'integer'),
            -- The parts of the last updateID.
            updateMillisecond INTEGER NOT NULL DEFAULT 0 CHECK (typeof(updateMillisecond) = 'integer'),
            updateSequence INTEGER NOT NULL DEFAULT 0 CHECK (typeof(updateSequence) = 'integer'),
            barrier INTEGER NOT NULL DEFAULT 0,
            -- The number of openings of the database. lfs.json next to it has the same number, or an older one.
            generation INTEGER NOT NULL DEFAULT 0 CHECK (typeof(generation) = 'integer' AND generation >= 0),
            -- Files made before this millisecond are not swept, because an older copy of the database has no rows for
            -- them.
            sweepsFrom INTEGER NOT NULL DEFAULT 0 CHECK (typeof(sweepsFrom) = 'integer'),
            -- Set while the whole storage is unreachable or refuses access: the code and message of a StorageError, and
            -- the start in milliseconds since 1970.
            outageCode TEXT CHECK (outageCode IS NULL OR typeof(outageCode) = 'text'),
            outageMessage TEXT CHECK (outageMessage IS NULL OR typeof(outageMessage) = 'text'),
            outageSince INTEGER CHECK (outageSince IS NULL OR typeof(outageSince) = 'integer'),
            -- 1 while the rows are deleted and their bytes are not yet: see LFSManager.reset.
            isResetting INTEGER NOT NULL DEFAULT 0 CHECK (isResetting = 0 OR isResetting = 1),
            -- The reset deletes files made before this millisecond. Newer files exist if a backup from the middle of
            -- the reset was restored.
            resetBefore INTEGER NOT NULL DEFAULT 9223372036854775807,
            -- 1 only within a transaction that writes rows from a server: see StateTable.applying.
            isApplying INTEGER NOT NULL DEFAULT 0 CHECK (isApplying = 0 OR isApplying = 1),
            -- 1 if deletions are held until a server has accepted them.
            holdsDeletions INTEGER NOT NULL DEFAULT 0 CHECK (holdsDeletions = 0 OR holdsDeletions = 1)
        );

        -- The files. All devices share these rows.
        CREATE TABLE lfs_file (
            id TEXT PRIMARY KEY NOT NULL
                CHECK (typeof(id) = 'text' AND length(CAST(id AS BLOB)) = 36 AND id NOT GLOB '*[^0-9a-f-]*'),
            status TEXT NOT NULL CHECK (status = 'local' OR status = 'remote'),
            url TEXT CHECK (url IS NULL OR typeof(url) = 'text' AND url <> ''),
            -- What the storage confirms: the checksum, or only the size. NULL if this device has not asked it.
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

        -- This table and the following ones belong to this device only. The queue of uploads, and records of files
        -- that cannot be uploaded or read.
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
            -- The bytes that failed attempts have sent since sentSince, in milliseconds since 1970. Reset after a day.
            sentBytes INTEGER NOT NULL DEFAULT 0 CHECK (typeof(sentBytes) = 'integer' AND sentBytes >= 0),
            sentSince INTEGER NOT NULL DEFAULT 0 CHECK (typeof(sentSince) = 'integer'),
            -- 1 if the present object is damaged, or may be.
            replacesObject INTEGER NOT NULL DEFAULT 0 CHECK (replacesObject = 0 OR replacesObject = 1)
        );
        CREATE INDEX lfs_job_due ON lfs_job(state, lane, notBefore, fileID);

        -- Deleted files whose bytes still have to be removed.
        CREATE TABLE lfs_tombstone (
            fileID TEXT PRIMARY KEY NOT NULL CHECK (typeof(fileID) = 'text'),
            key TEXT NOT NULL CHECK (typeof(key) = 'text'),
            state TEXT NOT NULL DEFAULT 'pending' CHECK (state = 'pending' OR state = 'removing'),
            attempts INTEGER NOT NULL DEFAULT 0 CHECK (typeof(attempts) = 'integer' AND attempts >= 0),
            notBefore INTEGER NOT NULL DEFAULT 0 CHECK (typeof(notBefore) = 'integer'),
            errorMessage TEXT CHECK (errorMessage IS NULL OR typeof(errorMessage) = 'text'),
            checkpoint BLOB CHECK (checkpoint IS NULL OR typeof(checkpoint) = 'blob'),
            -- 1 if this device deletes the object too. 0 if the device that deleted the file does, or the server.
            removesObject INTEGER NOT NULL DEFAULT 1 CHECK (removesObject = 0 OR removesObject = 1),
            -- 1 while nothing is removed, because a server has not accepted the deletion yet.
            isHeld INTEGER NOT NULL DEFAULT 0 CHECK (isHeld = 0 OR isHeld = 1),
            -- Restored if the file is inserted again before the removal of its bytes begins.
            jobState TEXT,
            jobErrorCode TEXT,
            jobErrorMessage TEXT,
            jobReplacesObject INTEGER NOT NULL DEFAULT 0,
            isPinned INTEGER NOT NULL DEFAULT 0,
            -- The row of a held deletion, restored if the server rejects the deletion. NULL for other deletions.
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

        -- Every persistence location in use, so that a later start without the option also finds the bytes.
        CREATE TABLE lfs_location (
            path TEXT PRIMARY KEY NOT NULL CHECK (typeof(path) = 'text')
        );

        -- Only copies that were used or pinned on this device have a row. The files in the local store show which
        -- copies exist.
        CREATE TABLE lfs_copy (
            fileID TEXT PRIMARY KEY NOT NULL CHECK (typeof(fileID) = 'text'),
            -- Milliseconds since 1970, or 0 for never.
            lastUsed INTEGER NOT NULL DEFAULT 0 CHECK (typeof(lastUsed) = 'integer'),
            isPinned INTEGER NOT NULL DEFAULT 0 CHECK (isPinned = 0 OR isPinned = 1)
        );
        CREATE INDEX lfs_copy_pinned ON lfs_copy(isPinned) WHERE isPinned = 1;

        -- The columns of the host's tables that own files, with their names at registration. The names of their
        -- triggers contain the id.
        CREATE TABLE lfs_owner (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            tableName TEXT NOT NULL CHECK (typeof(tableName) = 'text'),
            columnName TEXT NOT NULL CHECK (typeof(columnName) = 'text')
        );

        -- Files that an owner no longer refers to, or may no longer refer to. They are deleted after the commit if
        -- nothing refers to them.
        CREATE TABLE lfs_disowned (
            id INTEGER PRIMARY KEY,
            fileID TEXT UNIQUE NOT NULL CHECK (typeof(fileID) = 'text'),
            attempts INTEGER NOT NULL DEFAULT 0 CHECK (typeof(attempts) = 'integer' AND attempts >= 0),
            notBefore INTEGER NOT NULL DEFAULT 0 CHECK (typeof(notBefore) = 'integer'),
            errorMessage TEXT CHECK (errorMessage IS NULL OR typeof(errorMessage) = 'text')
        );

        -- The location of a replaced file, between the two triggers of an INSERT OR REPLACE. Rows that an ignored
        -- insert leaves have no meaning.
        CREATE TABLE lfs_replaced (
            fileID TEXT PRIMARY KEY NOT NULL,
            url TEXT NOT NULL,
            proof TEXT
        ) WITHOUT ROWID;
        """
}

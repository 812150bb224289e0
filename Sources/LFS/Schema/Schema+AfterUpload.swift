import GRDB

extension Schema {
    /// The second version: what a device keeps of the life after the upload.
    @Sendable static func addAfterUpload(_ db: Database) throws {
        try db.execute(sql: copies)
        try db.execute(sql: owners)
        try db.execute(sql: resetting)
        for name in Triggers.dropped { try db.execute(sql: "DROP TRIGGER \(name)") }
        for trigger in Triggers.afterUpload { try db.execute(sql: trigger) }
        try db.execute(sql: "UPDATE lfs_state SET schemaVersion = 2")
    }

    /// A row only for what was used or pinned here; the local store itself says which bytes are here.
    private static let copies = """
        CREATE TABLE lfs_copy (
            fileID TEXT PRIMARY KEY NOT NULL CHECK (typeof(fileID) = 'text'),
            -- Milliseconds since 1970; 0 for never.
            lastUsed INTEGER NOT NULL DEFAULT 0 CHECK (typeof(lastUsed) = 'integer'),
            isPinned INTEGER NOT NULL DEFAULT 0 CHECK (isPinned IN (0, 1))
        );
        CREATE INDEX lfs_copy_pinned ON lfs_copy(isPinned) WHERE isPinned = 1;
        """

    private static let owners = """
        -- Columns of the host's tables that own files, as they were named then. The id is in the names of their triggers.
        CREATE TABLE lfs_owner (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            tableName TEXT NOT NULL CHECK (typeof(tableName) = 'text'),
            columnName TEXT NOT NULL CHECK (typeof(columnName) = 'text')
        );

        -- Files that an owner has let go of, or may have: to be deleted after the commit unless something refers to them.
        CREATE TABLE lfs_disowned (
            id INTEGER PRIMARY KEY,
            fileID TEXT UNIQUE NOT NULL CHECK (typeof(fileID) = 'text'),
            attempts INTEGER NOT NULL DEFAULT 0 CHECK (typeof(attempts) = 'integer' AND attempts >= 0),
            notBefore INTEGER NOT NULL DEFAULT 0 CHECK (typeof(notBefore) = 'integer'),
            errorMessage TEXT CHECK (typeof(errorMessage) IN ('text', 'null'))
        );

        -- Between the two triggers of an INSERT OR REPLACE: where the file that is replaced is. What an ignored insert
        -- leaves means nothing.
        CREATE TABLE lfs_replaced (
            fileID TEXT PRIMARY KEY NOT NULL,
            url TEXT NOT NULL,
            proof TEXT
        );

        -- What comes back when the file is inserted again before its bytes have begun to go.
        ALTER TABLE lfs_tombstone ADD COLUMN jobState TEXT;
        ALTER TABLE lfs_tombstone ADD COLUMN jobErrorCode TEXT;
        ALTER TABLE lfs_tombstone ADD COLUMN jobReplacesObject INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE lfs_tombstone ADD COLUMN isPinned INTEGER NOT NULL DEFAULT 0;
        """

    private static let resetting = """
        -- Whether the rows are gone and their bytes are still to go: see LFSManager.reset.
        ALTER TABLE lfs_state ADD COLUMN isResetting INTEGER NOT NULL DEFAULT 0 CHECK (isResetting IN (0, 1));
        -- Files made before this millisecond go with it. Younger ones are there when a backup from its middle is put back.
        ALTER TABLE lfs_state ADD COLUMN resetBefore INTEGER NOT NULL DEFAULT 9223372036854775807;
        """
}

import GRDB

extension Schema {
    /// The second version: what a device keeps of the life after the upload.
    @Sendable static func addAfterUpload(_ db: Database) throws {
        try db.execute(sql: copies)
        try db.execute(sql: owners)
        try db.execute(sql: freeing)
        for trigger in Triggers.replaced {
            try db.execute(sql: "DROP TRIGGER \(trigger.name)")
            try db.execute(sql: trigger.sql)
        }
        for trigger in Triggers.afterUpload { try db.execute(sql: trigger) }
        for statement in Triggers.checking { try db.execute(sql: statement) }
        try db.execute(sql: "UPDATE lfs_state SET schemaVersion = 2")
    }

    /// A row only for what was used or pinned here; the local store itself says which bytes are here.
    private static let copies = """
        CREATE TABLE lfs_copy (
            fileID TEXT PRIMARY KEY NOT NULL,
            -- Milliseconds since 1970; 0 for never.
            lastUsed INTEGER NOT NULL DEFAULT 0,
            isPinned INTEGER NOT NULL DEFAULT 0 CHECK (isPinned IN (0, 1))
        );
        CREATE INDEX lfs_copy_pinned ON lfs_copy(isPinned) WHERE isPinned = 1;
        """

    private static let owners = """
        -- Columns of the host's tables that own files. The triggers' names begin with the given text.
        CREATE TABLE lfs_owner (
            triggers TEXT PRIMARY KEY NOT NULL,
            tableName TEXT NOT NULL,
            columnName TEXT NOT NULL
        );

        -- Files that an owner has let go of, or may have: to be deleted after the commit unless something refers to them.
        CREATE TABLE lfs_disowned (
            fileID TEXT PRIMARY KEY NOT NULL
        );

        -- Between the two triggers of an INSERT OR REPLACE: where the file that is replaced is.
        CREATE TABLE lfs_replaced (
            fileID TEXT PRIMARY KEY NOT NULL,
            url TEXT NOT NULL
        );
        """
}

import GRDB

extension Schema {
    /// The second version: what a device keeps of the life after the upload.
    @Sendable static func addAfterUpload(_ db: Database) throws {
        try db.execute(sql: copies)
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
}

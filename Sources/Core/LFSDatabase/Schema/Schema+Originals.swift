import GRDB

/// Version 3: the originals of files that were attached without a copy.
extension Schema {
    @Sendable static func addOriginals(_ db: Database) throws {
        try db.execute(sql: changes)
        try db.execute(sql: "UPDATE lfs_state SET schemaVersion = 3")
    }

    private static let changes = """
        -- The originals of files that were attached without a copy. They belong to this device only.
        CREATE TABLE lfs_original (
            fileID TEXT PRIMARY KEY NOT NULL CHECK (typeof(fileID) = 'text'),
            -- The absolute path. A blob if it is not text.
            path NOT NULL CHECK (typeof(path) = 'text' OR typeof(path) = 'blob'),
            -- The number of the file system.
            device INTEGER NOT NULL CHECK (typeof(device) = 'integer'),
            -- The inode, the size and the times of the original when its bytes were read.
            stamp TEXT NOT NULL CHECK (typeof(stamp) = 'text')
        );

        -- The deletion of a file can be undone until its tombstone is deleted.
        CREATE TRIGGER lfs_tombstone_original AFTER DELETE ON lfs_tombstone
        WHEN EXISTS (SELECT 1 FROM lfs_original WHERE fileID = OLD.fileID)
            AND NOT EXISTS (SELECT 1 FROM lfs_file WHERE id = OLD.fileID)
        BEGIN DELETE FROM lfs_original WHERE fileID = OLD.fileID; END;
        """
}

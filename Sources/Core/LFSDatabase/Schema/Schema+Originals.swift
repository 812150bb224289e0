import GRDB

/// Versions 3 and 4: the originals of files that were attached without a copy, and an index of the files that are not
/// uploaded.
extension Schema {
    @Sendable static func addOriginals(_ db: Database) throws {
        try db.execute(sql: table)
        try db.execute(sql: "UPDATE lfs_state SET schemaVersion = 3")
    }

    @Sendable static func addRelativePathsAndIndex(_ db: Database) throws {
        try db.execute(sql: relativePath)
        try db.execute(sql: localIndex)
        try db.execute(sql: "UPDATE lfs_state SET schemaVersion = 4")
    }

    private static let table = """
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

    private static let relativePath = """
        -- The path from the folder of the database, for a database that is moved together with its originals. NULL if
        -- the two have no parent in common.
        ALTER TABLE lfs_original ADD COLUMN
            relativePath CHECK (relativePath IS NULL OR typeof(relativePath) = 'text' OR typeof(relativePath) = 'blob');
        """

    /// Without it, counting these files would read all rows, which have nearly always been uploaded.
    private static let localIndex = """
        CREATE INDEX lfs_file_local ON lfs_file(status, id) WHERE status = 'local';
        """
}

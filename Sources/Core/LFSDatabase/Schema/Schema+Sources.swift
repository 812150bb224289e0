import GRDB

/// Version 2: an index to find files by content, the originals of a backup, and the time since which uploads fail or
/// wait.
extension Schema {
    @Sendable static func addSources(_ db: Database) throws {
        try db.execute(sql: changes)
        for trigger in SourceTriggers.all { try db.execute(sql: trigger) }
        try db.execute(sql: "UPDATE lfs_state SET schemaVersion = 2")
    }

    private static let changes = """
        CREATE INDEX lfs_file_content ON lfs_file(sha256, byteCount);

        -- The start of a time in which all uploads fail, in milliseconds since 1970.
        ALTER TABLE lfs_state ADD COLUMN failingSince INTEGER
            CHECK (failingSince IS NULL OR typeof(failingSince) = 'integer');
        -- The reason why all uploads are held, such as a wait for another network, and the start of the hold in
        -- milliseconds since 1970.
        ALTER TABLE lfs_state ADD COLUMN holdReason TEXT CHECK (holdReason IS NULL OR typeof(holdReason) = 'text');
        ALTER TABLE lfs_state ADD COLUMN holdSince INTEGER CHECK (holdSince IS NULL OR typeof(holdSince) = 'integer');

        -- The originals that a backup has read on this device, for example the files of a folder.
        CREATE TABLE lfs_source (
            -- A path, or another name from the source. A blob if it is not text.
            id NOT NULL PRIMARY KEY CHECK (typeof(id) = 'text' OR typeof(id) = 'blob'),
            -- Shows, without reading the original, that it has not changed.
            stamp TEXT NOT NULL CHECK (typeof(stamp) = 'text'),
            -- The size and the SHA-256 of the bytes that were read.
            byteCount INTEGER NOT NULL CHECK (typeof(byteCount) = 'integer' AND byteCount >= 0),
            sha256 TEXT NOT NULL CHECK (typeof(sha256) = 'text'),
            -- Its file. For a declined original, the deleted file.
            fileID TEXT CHECK (fileID IS NULL OR typeof(fileID) = 'text'),
            state TEXT NOT NULL DEFAULT 'attached' CHECK (state = 'attached' OR state = 'declined')
        );
        CREATE INDEX lfs_source_fileID ON lfs_source(fileID);
        """
}

/// The changes to the record of an original when its file is deleted or inserted again.
enum SourceTriggers {
    static let all = [decline, takeBack]

    /// Marks the original as declined, because a file that was deleted on purpose must not be uploaded again.
    private static let decline = """
        CREATE TRIGGER lfs_file_source_declined AFTER DELETE ON lfs_file
        WHEN EXISTS (SELECT 1 FROM lfs_source WHERE fileID = OLD.id AND state = 'attached')
        BEGIN UPDATE lfs_source SET state = 'declined' WHERE fileID = OLD.id AND state = 'attached'; END
        """

    /// Marks the original as attached again when the deletion is undone, or was the first half of an `INSERT OR
    /// REPLACE`.
    private static let takeBack = """
        CREATE TRIGGER lfs_file_source_back AFTER INSERT ON lfs_file
        WHEN EXISTS (SELECT 1 FROM lfs_source WHERE fileID = NEW.id AND state = 'declined')
        BEGIN UPDATE lfs_source SET state = 'attached' WHERE fileID = NEW.id AND state = 'declined'; END
        """
}

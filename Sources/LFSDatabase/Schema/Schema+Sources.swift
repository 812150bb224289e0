import GRDB

/// Version 2: finding files by their content, what a backup knows of its originals, and since when uploads fail or
/// wait.
extension Schema {
    @Sendable static func addSources(_ db: Database) throws {
        try db.execute(sql: changes)
        for trigger in SourceTriggers.all { try db.execute(sql: trigger) }
        try db.execute(sql: "UPDATE lfs_state SET schemaVersion = 2")
    }

    private static let changes = """
        CREATE INDEX lfs_file_content ON lfs_file(sha256, byteCount);

        -- Since when uploads fail and none succeeds, in milliseconds since 1970.
        ALTER TABLE lfs_state ADD COLUMN failingSince INTEGER
            CHECK (failingSince IS NULL OR typeof(failingSince) = 'integer');
        -- What all uploads wait for, such as another network, and since when in milliseconds since 1970.
        ALTER TABLE lfs_state ADD COLUMN holdReason TEXT CHECK (holdReason IS NULL OR typeof(holdReason) = 'text');
        ALTER TABLE lfs_state ADD COLUMN holdSince INTEGER CHECK (holdSince IS NULL OR typeof(holdSince) = 'integer');

        -- The originals that a backup has read on this device, such as the files of a folder.
        CREATE TABLE lfs_source (
            -- A path or another name that the source gives; a blob where it is no text.
            id NOT NULL PRIMARY KEY CHECK (typeof(id) = 'text' OR typeof(id) = 'blob'),
            -- What shows that it has not changed without reading it.
            stamp TEXT NOT NULL CHECK (typeof(stamp) = 'text'),
            -- Of the bytes that were read then.
            byteCount INTEGER NOT NULL CHECK (typeof(byteCount) = 'integer' AND byteCount >= 0),
            sha256 TEXT NOT NULL CHECK (typeof(sha256) = 'text'),
            -- Its file; of one that is declined the file that was deleted.
            fileID TEXT CHECK (fileID IS NULL OR typeof(fileID) = 'text'),
            state TEXT NOT NULL DEFAULT 'attached' CHECK (state = 'attached' OR state = 'declined')
        );
        CREATE INDEX lfs_source_fileID ON lfs_source(fileID);
        """
}

/// What happens to the note of an original when its file is deleted, whoever deletes it.
enum SourceTriggers {
    static let all = [decline, takeBack]

    /// A file that was deleted on purpose is not sent again from its original.
    private static let decline = """
        CREATE TRIGGER lfs_file_source_declined AFTER DELETE ON lfs_file
        WHEN EXISTS (SELECT 1 FROM lfs_source WHERE fileID = OLD.id AND state = 'attached')
        BEGIN UPDATE lfs_source SET state = 'declined' WHERE fileID = OLD.id AND state = 'attached'; END
        """

    /// The deletion was taken back, or was the first half of an `INSERT OR REPLACE`.
    private static let takeBack = """
        CREATE TRIGGER lfs_file_source_back AFTER INSERT ON lfs_file
        WHEN EXISTS (SELECT 1 FROM lfs_source WHERE fileID = NEW.id AND state = 'declined')
        BEGIN UPDATE lfs_source SET state = 'attached' WHERE fileID = NEW.id AND state = 'declined'; END
        """
}

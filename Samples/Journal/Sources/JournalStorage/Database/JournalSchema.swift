import GRDB
import LFS
import LFSSettings
import LFSSync

/// The journal's own tables, beside those of LFS. Times are milliseconds since 1970, ids lowercase UUIDs.
enum JournalSchema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerLFSMigrations()
        migrator.registerLFSSyncMigrations()
        migrator.registerLFSSettingsMigrations()
        migrator.registerMigration("journal.v1") { db in
            try db.execute(sql: records + pictures + albums)
            try FileData.deletedWithOwner("picture", column: "fileId", in: db)
            try FileData.deletedWithOwner("asset", column: "fileId", in: db)
        }
        migrator.registerMigration("journal.v2") { db in try makeShared(db) }
        return migrator
    }

    private static let records = """
        CREATE TABLE tag (
            id TEXT PRIMARY KEY NOT NULL,
            position INTEGER NOT NULL UNIQUE,
            name TEXT NOT NULL,
            color TEXT
        );

        CREATE TABLE record (
            id TEXT PRIMARY KEY NOT NULL,
            startedAt INTEGER NOT NULL,
            endedAt INTEGER CHECK (endedAt >= startedAt),
            timeZone TEXT NOT NULL,
            comment TEXT NOT NULL
        );
        -- The timeline, which goes back from the newest.
        CREATE INDEX record_start ON record(startedAt, id);
        -- A range: what has not ended before it. Its beginnings are in the index too, so that only the records are read
        -- that are in it.
        CREATE INDEX record_end ON record(endedAt, startedAt) WHERE endedAt IS NOT NULL;
        CREATE INDEX record_running ON record(startedAt) WHERE endedAt IS NULL;

        -- No reference to the tag: a record keeps the tags that are no longer listed.
        CREATE TABLE record_tag (
            recordId TEXT NOT NULL REFERENCES record(id) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            tagId TEXT NOT NULL,
            PRIMARY KEY (recordId, position),
            UNIQUE (recordId, tagId)
        ) WITHOUT ROWID;
        CREATE INDEX record_tag_tag ON record_tag(tagId);

        """

    private static let pictures = """
        CREATE TABLE picture (
            recordId TEXT NOT NULL REFERENCES record(id) ON DELETE CASCADE,
            -- As ImageName makes it; the index of it beside it, to find a free one.
            name TEXT NOT NULL,
            number INTEGER NOT NULL,
            position INTEGER NOT NULL,
            fileId TEXT NOT NULL UNIQUE REFERENCES lfs_file(id),
            PRIMARY KEY (recordId, name)
        ) WITHOUT ROWID;
        CREATE INDEX picture_order ON picture(recordId, position);

        """

    private static let albums = """
        CREATE TABLE album (
            id TEXT PRIMARY KEY NOT NULL,
            remoteId TEXT UNIQUE,
            localId TEXT,
            ownerId TEXT NOT NULL,
            name TEXT NOT NULL,
            createdAt INTEGER NOT NULL,
            UNIQUE (ownerId, localId)
        );
        CREATE INDEX album_owner ON album(ownerId, createdAt, id);

        CREATE TABLE asset (
            id TEXT PRIMARY KEY NOT NULL,
            remoteId TEXT UNIQUE,
            localId TEXT,
            ownerId TEXT NOT NULL,
            -- SHA-256 of the bytes, 64 lowercase hex digits.
            checksum TEXT NOT NULL,
            createdAt INTEGER NOT NULL,
            -- The picture of a record may have the same file.
            fileId TEXT NOT NULL REFERENCES lfs_file(id),
            UNIQUE (ownerId, localId),
            UNIQUE (ownerId, checksum)
        );
        CREATE INDEX asset_owner ON asset(ownerId, createdAt, id);
        CREATE INDEX asset_file ON asset(fileId);

        CREATE TABLE album_asset (
            albumId TEXT NOT NULL REFERENCES album(id) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            assetId TEXT NOT NULL REFERENCES asset(id) ON DELETE CASCADE,
            PRIMARY KEY (albumId, position),
            UNIQUE (albumId, assetId)
        ) WITHOUT ROWID;
        CREATE INDEX album_asset_asset ON album_asset(assetId);
        """
}

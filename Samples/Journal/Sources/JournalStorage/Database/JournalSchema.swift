public import GRDB
import LFS
import LFSSettings
import LFSSync

/// The journal's own tables, in addition to those of LFS. Times are milliseconds since 1970, ids lowercase UUIDs.
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
        migrator.registerMigration("journal.v3") { db in try addTrash(db) }
        migrator.registerMigration("journal.trash-ages") { db in try db.execute(sql: trashAges) }
        migrator.registerMigration("journal.v4") { db in try db.execute(sql: looks) }
        migrator.registerMigration("journal.v5") { db in
            try db.execute(sql: people)
            try SyncedTable.install("user", in: db)
        }
        migrator.registerMigration("journal.v6") { db in
            try db.execute(sql: media)
            // Devices with an older journal lack the columns, of which two are NOT NULL.
            try SyncedTable.install("asset", version: 2, in: db)
        }
        migrator.registerMigration("journal.v7") { db in try db.execute(sql: given) }
        return migrator
    }

    /// Adds the time at which a picture was deleted. Until it is deleted finally, it can be restored on each device.
    private static func addTrash(_ db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE picture ADD COLUMN deletedAt INTEGER;
                CREATE INDEX picture_deleted ON picture(deletedAt) WHERE deletedAt IS NOT NULL;
                -- The numbers of pictures in months are counted without reading the rows.
                DROP INDEX picture_order;
                CREATE INDEX picture_order ON picture(recordId, position, id, deletedAt);
                """)
        try SyncedTable.install("picture", in: db)
    }

    /// The time for which this device has known that a picture is deleted. Its clock measures it, so the table is not
    /// synced. See `expireTrash(after:now:)`.
    private static let trashAges = """
        CREATE TABLE picture_trash (
            pictureId TEXT PRIMARY KEY NOT NULL REFERENCES picture(id) ON DELETE CASCADE,
            -- Milliseconds.
            age INTEGER NOT NULL,
            -- The system time at the last look.
            seenAt INTEGER NOT NULL
        ) WITHOUT ROWID;
        """

    /// The appearance of pictures before they are loaded. Each device computes it, so the table is not synced.
    private static let looks = """
        CREATE TABLE picture_look (
            fileId TEXT PRIMARY KEY NOT NULL REFERENCES lfs_file(id) ON DELETE CASCADE,
            width INTEGER NOT NULL,
            height INTEGER NOT NULL,
            -- A number sign and six hexadecimal digits.
            color TEXT NOT NULL
        ) WITHOUT ROWID;
        """

    /// The accounts that share albums with this one, and this account itself. The sync server creates their rows.
    private static let people = """
        CREATE TABLE user (
            -- The id of the account on the sync server.
            id TEXT PRIMARY KEY NOT NULL,
            name TEXT NOT NULL,
            picture BLOB
        );
        """

    /// The columns for the media of an asset. Durations are milliseconds.
    private static let media = """
        ALTER TABLE asset ADD COLUMN type TEXT NOT NULL DEFAULT 'image';
        ALTER TABLE asset ADD COLUMN width INTEGER;
        ALTER TABLE asset ADD COLUMN height INTEGER;
        ALTER TABLE asset ADD COLUMN duration INTEGER;
        ALTER TABLE asset ADD COLUMN isFavorite INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE asset ADD COLUMN modifiedAt INTEGER;
        CREATE INDEX asset_favorite ON asset(fileId) WHERE isFavorite;
        """

    /// The contents that the folder of the journal was given by this device, so the table is not synced.
    private static let given = """
        CREATE TABLE folder_given (
            -- The id of a record, or 'tags'.
            name TEXT PRIMARY KEY NOT NULL,
            -- JSON: a GivenRecord, or the tags.
            content BLOB NOT NULL
        ) WITHOUT ROWID;
        """

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
        -- The timeline, newest first.
        CREATE INDEX record_start ON record(startedAt, id);
        -- Records in a range of time: those that have not ended before it. The index also has their starts, so that
        -- SQLite reads only the records in the range.
        CREATE INDEX record_end ON record(endedAt, startedAt) WHERE endedAt IS NOT NULL;
        CREATE INDEX record_running ON record(startedAt) WHERE endedAt IS NULL;

        -- No reference to the tag, because a record keeps tags that are no longer in the list of tags.
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
            -- The description of an ImageName. Its index is also in the column number, to find a free one.
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

extension JournalSchema {
    /// The beginnings of the names of tables that the journal does not own.
    private static let foreign = ["lfs_", "grdb_", "sqlite_"]

    /// Deletes the rows of all tables of the journal. References are checked when the transaction commits.
    static func eraseAll(_ db: Database) throws {
        try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
        let tables = try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        for table in tables where !foreign.contains(where: { table.hasPrefix($0) }) {
            try db.execute(sql: "DELETE FROM \(table.quotedDatabaseIdentifier)")
        }
    }
}

extension DatabaseStorageService {
    /// Deletes all records, pictures, tags and albums. Call this within `LFSManager.reset(_:alongside:)`, so that it
    /// deletes no file on the storage and no row on other devices.
    ///
    /// - Throws: The database's error.
    public static func eraseAll(_ db: Database) throws { try JournalSchema.eraseAll(db) }
}

import GRDB
import LFS
import LFSSync

/// The migration `journal.v2`: tables that several devices can share.
///
/// Each table has a text id that is globally unique, and no other unique column: two devices that are not connected may
/// both write a value that a unique index would refuse. Where both could state the same fact, such as that a record has
/// a tag, the id consists of the two ids that it relates, and both write the same row. Values that must be unique on
/// one device are checked in the transaction that writes them.
///
/// | table | synced | content |
/// |---|---|---|
/// | `record`, `tag`, `record_tag`, `picture` | yes | the journal |
/// | `picture.deletedAt` (`journal.v3`) | yes | the time at which a picture was deleted. NULL for all others |
/// | `picture_trash` (`journal.trash-ages`) | no | the time for which this device has known the deletion |
/// | `asset` | yes | the pictures of an owner's albums, which each device recognizes by their checksums |
/// | `album`, `album_asset`, `album_member` | yes, and to other accounts once an album has a member | the albums |
/// | `asset.type` … `asset.modifiedAt` (`journal.v6`) | yes, as version 2 | what a photo app knows about an asset |
/// | `user` (`journal.v5`) | yes, and to the accounts that share an album | the accounts and their names |
/// | `asset_local`, `album_local` | no | the ids in the photo library of this device |
/// | `folder_given` (`journal.v7`) | no | the records and tags that the plain folder was given |
extension JournalSchema {
    static let synced = ["tag", "record", "record_tag", "picture", "asset", "album", "album_asset", "album_member"]

    /// Changes the tables to their shared form and installs ``JournalSchema/synced``. Foreign keys are off while
    /// migrations run.
    static func makeShared(_ db: Database) throws {
        for (table, columns) in shared {
            let indexes = try String.fetchAll(
                db, sql: "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
                arguments: [table])
            for index in indexes { try db.execute(sql: "DROP INDEX \(index.quotedDatabaseIdentifier)") }
            try db.execute(sql: "CREATE TABLE \(table)_v2 (\(columns.definition))")
            try db.execute(sql: "INSERT INTO \(table)_v2 \(columns.rows)")
        }
        try db.execute(sql: local)
        for table in shared.map(\.table).reversed() { try db.execute(sql: "DROP TABLE \(table)") }
        for table in shared.map(\.table) { try db.execute(sql: "ALTER TABLE \(table)_v2 RENAME TO \(table)") }
        try db.execute(sql: members + indexes)
        try FileData.deletedWithOwner("picture", column: "fileId", in: db)
        try FileData.deletedWithOwner("asset", column: "fileId", in: db)
        for table in synced { try SyncedTable.install(table, in: db) }
    }

    /// The tables with their columns, and the queries that read the rows of `journal.v1`.
    private static let shared: [(table: String, columns: (definition: String, rows: String))] = [
        (
            "tag",
            (
                "id TEXT PRIMARY KEY NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL, color TEXT",
                "SELECT id, position, name, color FROM tag ORDER BY position"
            )
        ),
        (
            // One device may set the start and another one the end, so that a record ends before it starts: it is read
            // as a record without a length.
            "record",
            (
                """
                id TEXT PRIMARY KEY NOT NULL, startedAt INTEGER NOT NULL, endedAt INTEGER, timeZone TEXT NOT NULL,
                comment TEXT NOT NULL
                """, "SELECT id, startedAt, endedAt, timeZone, comment FROM record ORDER BY startedAt, id"
            )
        ),
        (
            // The id consists of the record's id and the tag's id. The tag is not a foreign key: a record keeps tags
            // that are no longer listed.
            "record_tag",
            (
                """
                id TEXT PRIMARY KEY NOT NULL, recordId TEXT NOT NULL REFERENCES record(id) ON DELETE CASCADE,
                position INTEGER NOT NULL, tagId TEXT NOT NULL
                """,
                """
                SELECT recordId || '_' || tagId, recordId, position, tagId FROM record_tag ORDER BY recordId, position
                """
            )
        ),
        (
            // The id is that of the file. Two devices may give two pictures the same name: see PictureNames.
            "picture",
            (
                """
                id TEXT PRIMARY KEY NOT NULL, recordId TEXT NOT NULL REFERENCES record(id) ON DELETE CASCADE,
                name TEXT NOT NULL, number INTEGER NOT NULL, position INTEGER NOT NULL,
                fileId TEXT NOT NULL REFERENCES lfs_file(id) ON DELETE CASCADE
                """,
                """
                SELECT fileId, recordId, name, number, position, fileId FROM picture ORDER BY recordId, position, name
                """
            )
        ),
        (
            // A picture of a record may have the same file.
            "asset",
            (
                """
                id TEXT PRIMARY KEY NOT NULL, remoteId TEXT, ownerId TEXT NOT NULL, checksum TEXT NOT NULL,
                createdAt INTEGER NOT NULL, fileId TEXT NOT NULL REFERENCES lfs_file(id) ON DELETE CASCADE
                """, "SELECT id, remoteId, ownerId, checksum, createdAt, fileId FROM asset ORDER BY createdAt, id"
            )
        ),
        (
            "album",
            (
                """
                id TEXT PRIMARY KEY NOT NULL, remoteId TEXT, ownerId TEXT NOT NULL, name TEXT NOT NULL,
                createdAt INTEGER NOT NULL
                """, "SELECT id, remoteId, ownerId, name, createdAt FROM album ORDER BY createdAt, id"
            )
        ),
        (
            // The id consists of the album's id and the file's id. An album shares its files. The owner's assets are
            // not sent to the members, so that the asset is not a foreign key.
            "album_asset",
            (
                """
                id TEXT PRIMARY KEY NOT NULL, albumId TEXT NOT NULL REFERENCES album(id) ON DELETE CASCADE,
                fileId TEXT NOT NULL REFERENCES lfs_file(id) ON DELETE CASCADE, assetId TEXT NOT NULL,
                position INTEGER NOT NULL
                """,
                """
                SELECT l.albumId || '_' || a.fileId, l.albumId, a.fileId, min(l.assetId), min(l.position)
                FROM album_asset l JOIN asset a ON a.id = l.assetId
                GROUP BY l.albumId, a.fileId ORDER BY l.albumId, l.position
                """
            )
        ),
    ]

    /// The tables that stay on this device, where their values are unique.
    private static let local = """
        CREATE TABLE asset_local (
            assetId TEXT PRIMARY KEY NOT NULL REFERENCES asset(id) ON DELETE CASCADE,
            localId TEXT NOT NULL
        );
        CREATE INDEX asset_local_id ON asset_local(localId);
        INSERT INTO asset_local (assetId, localId) SELECT id, localId FROM asset WHERE localId IS NOT NULL;
        CREATE TABLE album_local (
            albumId TEXT PRIMARY KEY NOT NULL REFERENCES album(id) ON DELETE CASCADE,
            localId TEXT NOT NULL
        );
        CREATE INDEX album_local_id ON album_local(localId);
        INSERT INTO album_local (albumId, localId) SELECT id, localId FROM album WHERE localId IS NOT NULL;

        """

    /// The accounts that an album is shared with. The id consists of the album's id and the account's id. The name is
    /// the owner's name for the account.
    private static let members = """
        CREATE TABLE album_member (
            id TEXT PRIMARY KEY NOT NULL,
            albumId TEXT NOT NULL REFERENCES album(id) ON DELETE CASCADE,
            accountID TEXT NOT NULL,
            role TEXT NOT NULL,
            name TEXT NOT NULL
        );
        CREATE INDEX album_member_album ON album_member(albumId);

        """

    private static let indexes = """
        -- The timeline, newest first.
        CREATE INDEX record_start ON record(startedAt, id);
        -- Records in a range of time: those that have not ended before it. The index also has their starts, so that
        -- SQLite reads only the records in the range.
        CREATE INDEX record_end ON record(max(endedAt, startedAt), startedAt) WHERE endedAt IS NOT NULL;
        CREATE INDEX record_running ON record(startedAt) WHERE endedAt IS NULL;
        CREATE INDEX record_tag_record ON record_tag(recordId, position, id);
        CREATE INDEX record_tag_tag ON record_tag(tagId);
        CREATE INDEX picture_order ON picture(recordId, position, id);
        CREATE INDEX picture_file ON picture(fileId);
        CREATE INDEX asset_owner ON asset(ownerId, createdAt, id);
        CREATE INDEX asset_checksum ON asset(ownerId, checksum);
        CREATE INDEX asset_remote ON asset(remoteId);
        CREATE INDEX asset_file ON asset(fileId);
        CREATE INDEX album_owner ON album(ownerId, createdAt, id);
        CREATE INDEX album_remote ON album(remoteId);
        CREATE INDEX album_asset_album ON album_asset(albumId, position, id);
        CREATE INDEX album_asset_asset ON album_asset(assetId);
        CREATE INDEX album_asset_file ON album_asset(fileId);
        """
}

import GRDB
import LFS
import LFSSync

/// `journal.v2`: the tables as several devices can share them.
///
/// Each has a text id that is unique in the world, and nothing else in it is unique: two devices that know nothing of
/// each other may both write what an index would refuse. Where both could say the same, such as that a record has a
/// tag, the id is made of the two that it is about, and theirs is one row. What has to be unique on one device is
/// looked for in the transaction that writes.
///
/// | table | travels | why |
/// |---|---|---|
/// | `record`, `tag`, `record_tag`, `picture` | yes | the journal |
/// | `asset` | yes | what an owner's albums show, found again by its checksum on each device |
/// | `album`, `album_asset`, `album_member` | yes | and to other accounts, once an album has a member |
/// | `asset_local`, `album_local` | no | what the photo library of this device calls them |
extension JournalSchema {
    static let synced = ["tag", "record", "record_tag", "picture", "asset", "album", "album_asset", "album_member"]

    /// Before ``JournalSchema/synced`` are installed. Foreign keys are off while migrations run.
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

    /// Each table with its columns, and its rows as they were in `journal.v1`.
    private static let shared: [(table: String, columns: (definition: String, rows: String))] = [
        (
            "tag",
            (
                "id TEXT PRIMARY KEY NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL, color TEXT",
                "SELECT id, position, name, color FROM tag ORDER BY position"
            )
        ),
        (
            // One device may set the start and another one the end, so that it ends before it starts: it is read as
            // one without a length.
            "record",
            (
                """
                id TEXT PRIMARY KEY NOT NULL, startedAt INTEGER NOT NULL, endedAt INTEGER, timeZone TEXT NOT NULL,
                comment TEXT NOT NULL
                """, "SELECT id, startedAt, endedAt, timeZone, comment FROM record ORDER BY startedAt, id"
            )
        ),
        (
            // The id is that of the record and that of the tag. No reference to the tag: a record keeps the tags that
            // are no longer listed.
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
            // The id is that of the file. Two devices may give two pictures one name: see PictureNames.
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
            // The picture of a record may have the same file.
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
            // The id is that of the album and that of the file, which is what an album shares. Who it is shared with
            // does not get the owner's assets, so that there is no reference to them.
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

    /// What stays on this device, where it is unique.
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

    /// Accounts that an album is shared with. The id is that of the album and that of the account; the name is what the
    /// owner knows it by.
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
        -- The timeline, which goes back from the newest.
        CREATE INDEX record_start ON record(startedAt, id);
        -- A range: what has not ended before it. Its beginnings are in the index too, so that only the records are read
        -- that are in it.
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

import GRDB
import LFS
import LFSBackup
import LFSSettings
import LFSSync

/// The uploader's own tables, beside those of LFS.
enum DocumentSchema {
    /// The table that says that a database is the uploader's. It is made before all others, so that a run that was
    /// killed in between finds its own database again.
    static let ownTable = "uploader_storage"

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("uploader.v1") { db in
            try db.execute(
                sql: """
                    -- Where the files are: see StorageMemory.
                    CREATE TABLE \(ownTable) (
                        id INTEGER PRIMARY KEY CHECK (id = 1),
                        location TEXT NOT NULL
                    );
                    """)
        }
        migrator.registerLFSMigrations()
        migrator.registerMigration("uploader.v2") { db in
            try db.execute(
                sql: """
                    CREATE TABLE uploader_document (
                        -- UUID version 7.
                        id TEXT PRIMARY KEY NOT NULL,
                        -- Not unique: those of two devices may meet here.
                        path TEXT NOT NULL,
                        title TEXT NOT NULL,
                        addedAt DATETIME NOT NULL,
                        fileId TEXT NOT NULL REFERENCES lfs_file(id),
                        stamp TEXT NOT NULL
                    );
                    CREATE INDEX uploader_document_path ON uploader_document(path);
                    CREATE INDEX uploader_document_fileId ON uploader_document(fileId);

                    -- Files that a newer version of the same document has replaced: see VersionTable.
                    CREATE TABLE uploader_replaced (
                        fileId TEXT PRIMARY KEY NOT NULL REFERENCES lfs_file(id) ON DELETE CASCADE,
                        documentId TEXT NOT NULL REFERENCES uploader_document(id)
                    );
                    CREATE INDEX uploader_replaced_documentId ON uploader_replaced(documentId);
                    """)
        }
        migrator.registerMigration("uploader.v3") { db in
            // A document may be removed by another device: its old versions are settled then.
            try db.execute(
                sql: """
                    CREATE TABLE uploader_replaced_new (
                        fileId TEXT PRIMARY KEY NOT NULL REFERENCES lfs_file(id) ON DELETE CASCADE,
                        documentId TEXT NOT NULL
                    );
                    INSERT INTO uploader_replaced_new SELECT fileId, documentId FROM uploader_replaced;
                    DROP TABLE uploader_replaced;
                    ALTER TABLE uploader_replaced_new RENAME TO uploader_replaced;
                    CREATE INDEX uploader_replaced_documentId ON uploader_replaced(documentId);
                    """)
        }
        migrator.registerLFSSettingsMigrations()
        migrator.registerMigration("uploader.v4") { db in
            // LFSBackup has its own notes of what was read. Files of other devices are none of this one's originals.
            let documents = try Row.fetchAll(
                db,
                sql: """
                    SELECT d.path, d.stamp, d.fileId FROM uploader_document d JOIN lfs_file f ON f.id = d.fileId
                    WHERE substr(f.key, 1, 33) = (SELECT namespace || '/' FROM lfs_state) ORDER BY d.id
                    """)
            for row in documents {
                // What cannot be used is told when it is pushed.
                guard let path = FilePath.fromDatabaseValue(row["path"]),
                    let stamp = String.fromDatabaseValue(row["stamp"]),
                    let id = FileID(stored: row["fileId"]),
                    let file = try? FileData.fetchOne(db, key: id)
                else { continue }
                try BackupNotes.remember(AssetName(bytes: path.bytes), stamp: stamp, file, db)
            }
        }
        migrator.registerMigration("uploader.v5") { db in
            // Whether copies of the database are kept on the storage, NULL while nobody has said, and which state was
            // saved when: see DatabaseSaver.
            try db.execute(
                sql: """
                    ALTER TABLE \(ownTable) ADD COLUMN savesDatabase INTEGER;
                    ALTER TABLE \(ownTable) ADD COLUMN savedState TEXT;
                    ALTER TABLE \(ownTable) ADD COLUMN savedAt REAL;
                    """)
        }
        migrator.registerMigration("uploader.verify") { db in
            // When each object was read back last: see ReadingTable.
            try db.execute(sql: ReadingTable.schema)
        }
        migrator.registerMigration("uploader.argument") { db in
            // The storage as it was written on the command line: see GivenStorage.
            try db.execute(sql: "ALTER TABLE \(ownTable) ADD COLUMN argument TEXT")
        }
        migrator.registerMigration("uploader.watch") { db in try db.execute(sql: MovedTable.schema) }
        migrator.registerMigration("uploader.restore") { db in try EntryTable.make(db) }
        migrator.registerMigration("uploader.versions") { db in
            try db.execute(sql: VersionTable.schema)
            try db.execute(sql: VersionMemory.schema)
        }
        migrator.registerMigration("uploader.change") { db in
            // Since when the storage is another one that was not verified: see StorageMemory.
            try db.execute(sql: "ALTER TABLE \(ownTable) ADD COLUMN changedAt REAL")
        }
        migrator.registerMigration("uploader.writer") { db in
            // Who saves copies of the database, and the names of the copy that was stored last and of the one that was
            // begun last: see CopySeries.
            try db.execute(
                sql: """
                    ALTER TABLE \(ownTable) ADD COLUMN writer TEXT;
                    ALTER TABLE \(ownTable) ADD COLUMN savedCopy TEXT;
                    ALTER TABLE \(ownTable) ADD COLUMN startedCopy TEXT;
                    """)
        }
        return migrator
    }

    /// Whether a database has a column: one that is only looked at may be that of an older uploader, or of another app.
    static func has(_ column: String, in table: String = ownTable, _ db: Database) throws -> Bool {
        let sql = "SELECT 1 FROM pragma_table_info(?) WHERE name = ?"
        return try Row.fetchOne(db, sql: sql, arguments: [table, column]) != nil
    }

    /// With what a database needs whose files several devices share. Without a sync server nothing of it is made: all
    /// changes would wait in it for ever.
    static var syncMigrator: DatabaseMigrator {
        var migrator = migrator
        migrator.registerLFSSyncMigrations()
        migrator.registerMigration("uploader.sync.v1") { db in
            try SyncedTable.install("uploader_document", in: db)
        }
        return migrator
    }

    /// Whether a newer uploader, or one with a newer LFS, has written the database. Migrations of the app whose
    /// database it is are its own business.
    static func isNewer(_ db: Database) throws -> Bool {
        guard try db.tableExists("grdb_migrations") else { return false }
        let known = syncMigrator.migrations
        let applied = try Row.fetchAll(db, sql: "SELECT identifier FROM grdb_migrations")
        return applied.compactMap { String.fromDatabaseValue($0[0]) }.contains { identifier in
            (identifier.hasPrefix("lfs.") || identifier.hasPrefix("uploader.")) && !known.contains(identifier)
        }
    }
}

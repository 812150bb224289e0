import GRDB
import LFS
import LFSBackup
import LFSSettings
import LFSSync

/// The uploader's tables, in addition to those of LFS.
enum DocumentSchema {
    /// The table that marks a database as the uploader's. It is created first, so that a run recognizes its database
    /// even if an earlier run was killed during the migration.
    static let ownTable = "uploader_storage"

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("uploader.v1") { db in
            try db.execute(
                sql: """
                    -- The storage of the files. See StorageMemory.
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
                        -- Not unique, because two devices may have the same path.
                        path TEXT NOT NULL,
                        title TEXT NOT NULL,
                        addedAt DATETIME NOT NULL,
                        fileId TEXT NOT NULL REFERENCES lfs_file(id),
                        stamp TEXT NOT NULL
                    );
                    CREATE INDEX uploader_document_path ON uploader_document(path);
                    CREATE INDEX uploader_document_fileId ON uploader_document(fileId);

                    -- Files that a newer version of the same document has replaced. See VersionTable.
                    CREATE TABLE uploader_replaced (
                        fileId TEXT PRIMARY KEY NOT NULL REFERENCES lfs_file(id) ON DELETE CASCADE,
                        documentId TEXT NOT NULL REFERENCES uploader_document(id)
                    );
                    CREATE INDEX uploader_replaced_documentId ON uploader_replaced(documentId);
                    """)
        }
        migrator.registerMigration("uploader.v3") { db in
            // Another device may remove a document. This device then removes the old versions.
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
            // LFSBackup keeps its own notes of read files. Files of other devices are not originals of this device.
            let documents = try Row.fetchAll(
                db,
                sql: """
                    SELECT d.path, d.stamp, d.fileId FROM uploader_document d JOIN lfs_file f ON f.id = d.fileId
                    WHERE substr(f.key, 1, 33) = (SELECT namespace || '/' FROM lfs_state) ORDER BY d.id
                    """)
            for row in documents {
                // Unusable rows are reported when their files are pushed.
                guard let path = FilePath.fromDatabaseValue(row["path"]),
                    let stamp = String.fromDatabaseValue(row["stamp"]),
                    let id = FileID(stored: row["fileId"]),
                    let file = try? FileData.fetchOne(db, key: id)
                else { continue }
                try BackupHistory.remember(AssetName(bytes: path.bytes), stamp: stamp, file: file, db)
            }
        }
        migrator.registerMigration("uploader.v5") { db in
            // Whether copies of the database are kept on the storage, NULL before the first choice, and the state and
            // the time of the last copy. See DatabaseSaver.
            try db.execute(
                sql: """
                    ALTER TABLE \(ownTable) ADD COLUMN savesDatabase INTEGER;
                    ALTER TABLE \(ownTable) ADD COLUMN savedState TEXT;
                    ALTER TABLE \(ownTable) ADD COLUMN savedAt REAL;
                    """)
        }
        migrator.registerMigration("uploader.verify") { db in
            // The time of the last read-back of each object. See ReadingTable.
            try db.execute(sql: ReadingTable.schema)
        }
        migrator.registerMigration("uploader.argument") { db in
            // The storage as given on the command line. See GivenStorage.
            try db.execute(sql: "ALTER TABLE \(ownTable) ADD COLUMN argument TEXT")
        }
        migrator.registerMigration("uploader.watch") { db in try db.execute(sql: MovedTable.schema) }
        migrator.registerMigration("uploader.restore") { db in try EntryTable.make(db) }
        migrator.registerMigration("uploader.versions") { db in
            try db.execute(sql: VersionTable.schema)
            try db.execute(sql: VersionMemory.schema)
        }
        migrator.registerMigration("uploader.change") { db in
            // The time of a change to another storage that has not been verified yet. See StorageMemory.
            try db.execute(sql: "ALTER TABLE \(ownTable) ADD COLUMN changedAt REAL")
        }
        migrator.registerMigration("uploader.writer") { db in
            // The writer of the database copies, and the names of the last copy that was stored and of the last one
            // that was started. See CopySeries.
            try db.execute(
                sql: """
                    ALTER TABLE \(ownTable) ADD COLUMN writer TEXT;
                    ALTER TABLE \(ownTable) ADD COLUMN savedCopy TEXT;
                    ALTER TABLE \(ownTable) ADD COLUMN startedCopy TEXT;
                    """)
        }
        migrator.registerMigration("uploader.reminder") { db in
            // The time of the last reminder to save the database. See DatabaseSaver.
            try db.execute(sql: "ALTER TABLE \(ownTable) ADD COLUMN remindedAt REAL")
        }
        migrator.registerMigration("uploader.seal") { db in
            // TRUE once a copy of the database has an authentication code. See DatabaseSaver.
            try db.execute(sql: "ALTER TABLE \(ownTable) ADD COLUMN sealsCopies INTEGER")
        }
        return migrator
    }

    /// Returns true if a database has a column. A database that is only read may belong to an older uploader or to
    /// another app.
    static func has(_ column: String, in table: String = ownTable, _ db: Database) throws -> Bool {
        let sql = "SELECT 1 FROM pragma_table_info(?) WHERE name = ?"
        return try Row.fetchOne(db, sql: sql, arguments: [table, column]) != nil
    }

    /// Deletes the rows of all tables of the uploader. References are checked when the transaction commits.
    static func eraseAll(_ db: Database) throws {
        try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
        let tables = try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        for table in tables where table.hasPrefix("uploader_") {
            try db.execute(sql: "DELETE FROM \(table.quotedDatabaseIdentifier)")
        }
    }

    /// A migrator that adds the tables for sharing files with other devices. Without a sync server they are not
    /// created, because changes would accumulate in them forever.
    static var syncMigrator: DatabaseMigrator {
        var migrator = migrator
        migrator.registerLFSSyncMigrations()
        migrator.registerMigration("uploader.sync.v1") { db in
            try SyncedTable.install("uploader_document", in: db)
        }
        return migrator
    }

    /// Returns true if a newer uploader, or one with a newer LFS, has written the database. Migrations of another app
    /// are ignored.
    static func isNewer(_ db: Database) throws -> Bool {
        guard try db.tableExists("grdb_migrations") else { return false }
        let known = syncMigrator.migrations
        let applied = try Row.fetchAll(db, sql: "SELECT identifier FROM grdb_migrations")
        return applied.compactMap { String.fromDatabaseValue($0[0]) }.contains { identifier in
            (identifier.hasPrefix("lfs.") || identifier.hasPrefix("uploader.")) && !known.contains(identifier)
        }
    }
}

import GRDB

/// Which storage the files of a database are on: the table `uploader_storage`.
///
/// A wrong `--to` would split the files over two storages, and a verification would take what is on the other for lost.
enum StorageMemory {
    /// The remembered storage; nil when there is none, and as long as no file is on it and none is to be deleted from
    /// it: whoever mistyped the first one gives another.
    static func bindingLocation(_ db: Database) throws -> String? {
        guard try db.tableExists(DocumentSchema.ownTable), try db.tableExists("lfs_file") else { return nil }
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT location FROM \(DocumentSchema.ownTable)
                WHERE EXISTS (SELECT 1 FROM lfs_file WHERE status = 'remote') OR EXISTS (SELECT 1 FROM lfs_tombstone)
                """)
        return row.flatMap { String.fromDatabaseValue($0[0]) }
    }

    static func remember(_ location: StorageLocation, _ db: Database) throws {
        // Another storage has no copy of the database yet.
        let sql = """
            INSERT INTO \(DocumentSchema.ownTable) (id, location) VALUES (1, ?1)
            ON CONFLICT (id) DO UPDATE SET
                savedState = CASE WHEN location = excluded.location THEN savedState END, location = excluded.location
            """
        try db.execute(sql: sql, arguments: [location.description])
    }

    /// Refuses another storage than the one that is remembered, and a folder that is away.
    ///
    /// - Parameter makes: whether a folder that is not there may be made.
    /// - Throws: ``UploaderError``, before anything is made.
    static func require(_ location: StorageLocation, _ file: DatabaseFile, changes: Bool, makes: Bool) throws {
        if let remembered = file.storage, remembered != location.description, !changes {
            throw UploaderError(
                """
                The files of \(file.path) are on \(remembered), and --to names \(location). Check --to. If they were \
                moved there, or shall go there from now on, add --change-storage.
                """
            )
        }
        guard !location.isThere, !makes || file.storage == location.description else { return }
        throw UploaderError(
            """
            There is no folder \(location.description.dropFirst("dir:".count)) to find the files in. Is its disk \
            mounted? Check --to.
            """
        )
    }
}

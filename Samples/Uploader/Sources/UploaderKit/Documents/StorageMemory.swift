import Foundation
import GRDB

/// The storage that the files of a database are on, as the table `uploader_storage` records it.
///
/// A wrong `--to` would split the files between two storages, and a verification would report those on the other one as
/// lost.
enum StorageMemory {
    /// Returns the recorded storage. Nil if none is recorded, or if it has no files and no pending deletions. A
    /// mistyped first storage can therefore be corrected.
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

    /// Returns the recorded storage in the syntax of `--to`, or nil if ``bindingLocation(_:)`` is nil.
    static func shown(_ db: Database) throws -> String? {
        let argument = try argument(db)
        return try bindingLocation(db).map { StorageLocation.argument($0, given: argument) }
    }

    /// Returns the storage as a later command line may give it, or nil if none is recorded.
    static func argument(_ db: Database) throws -> String? {
        guard try db.tableExists(DocumentSchema.ownTable) else { return nil }
        let columns = try DocumentSchema.has("argument", db) ? "argument, location" : "NULL, location"
        let row = try Row.fetchOne(db, sql: "SELECT \(columns) FROM \(DocumentSchema.ownTable)")
        guard let row else { return nil }
        if let argument = String.fromDatabaseValue(row[0]) { return argument }
        // The row is from a version that did not record the argument. Only the location of a folder is also a valid
        // argument.
        return String.fromDatabaseValue(row[1]).flatMap { $0.hasPrefix("dir:") ? $0 : nil }
    }

    /// Records a storage. After a change, its content is unknown until a verification has completed.
    static func remember(_ location: StorageLocation, given: GivenStorage, _ db: Database) throws {
        if let before = try bindingLocation(db), before != location.description, try DocumentSchema.has("changedAt", db)
        {
            try db.execute(
                sql: "UPDATE \(DocumentSchema.ownTable) SET changedAt = ?", arguments: [Date().timeIntervalSince1970])
            try ReadingTable.forgetAll(db)
        }
        if try DocumentSchema.has("writer", db) {
            // The copies of the database on the other storage form another series.
            try db.execute(
                sql: """
                    UPDATE \(DocumentSchema.ownTable) SET writer = NULL, savedCopy = NULL, startedCopy = NULL
                    WHERE location <> ?
                    """, arguments: [location.description])
        }
        // The new storage has no copy of the database yet.
        let sql = """
            INSERT INTO \(DocumentSchema.ownTable) (id, location) VALUES (1, ?1)
            ON CONFLICT (id) DO UPDATE SET
                savedState = CASE WHEN location = excluded.location THEN savedState END,
                savedAt = CASE WHEN location = excluded.location THEN savedAt END,
                location = excluded.location
            """
        try db.execute(sql: sql, arguments: [location.description])
        guard try DocumentSchema.has("argument", db) else { return }
        try db.execute(
            sql: "UPDATE \(DocumentSchema.ownTable) SET argument = ?", arguments: [given.remembered(at: location)])
    }

    // MARK: Changed storage

    /// Returns the time of a change to another storage that is not verified yet, or nil without such a change.
    static func changedAt(_ db: Database) throws -> Date? {
        guard try DocumentSchema.has("changedAt", db) else { return nil }
        let sql = "SELECT changedAt FROM \(DocumentSchema.ownTable) WHERE changedAt IS NOT NULL"
        // Even an invalid value means that the storage was changed.
        return try Row.fetchOne(db, sql: sql).map { row in
            Date(timeIntervalSince1970: Double.fromDatabaseValue(row[0]) ?? 0)
        }
    }

    private static func unverifiedStorage(_ db: Database) throws -> String? {
        try changedAt(db) == nil ? nil : try shown(db)
    }

    /// Returns the warning that every push prints until the storage is verified. New files are on it, but earlier ones
    /// may be missing.
    static func unverified(_ db: Database) throws -> String? {
        guard let storage = try unverifiedStorage(db) else { return nil }
        return """
            the storage was changed to \(storage), and was not verified since: it may lack earlier files. Run 'verify \
            --repair', which uploads missing files whose bytes are on this device.
            """
    }

    /// Returns the reason why no local copy may be freed, or nil if they may be freed. After a change, the new
    /// storage may lack files that the rows record as uploaded to the previous one.
    static func doubt(_ db: Database) throws -> UploaderError? {
        guard let storage = try unverifiedStorage(db) else { return nil }
        return UploaderError(
            """
            The storage was changed to \(storage), and was not verified since: it may lack files, so no local copy is \
            freed. Run 'verify' first. It reports missing files, and their copies stay.
            """)
    }

    /// The state at the start of a verification, so that its end does not confirm another storage.
    struct Verified: Sendable {
        fileprivate let location: String
        fileprivate let changedAt: DatabaseValue
    }

    /// - Returns: nil if there is nothing to record, or if the verified storage is not the recorded one.
    static func beginVerifying(_ location: StorageLocation, _ db: Database) throws -> Verified? {
        guard try DocumentSchema.has("changedAt", db) else { return nil }
        let sql = "SELECT changedAt FROM \(DocumentSchema.ownTable) WHERE location = ? AND changedAt IS NOT NULL"
        return try Row.fetchOne(db, sql: sql, arguments: [location.description]).map { row in
            Verified(location: location.description, changedAt: row[0])
        }
    }

    static func note(_ verified: Verified, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE \(DocumentSchema.ownTable) SET changedAt = NULL WHERE location = ? AND changedAt IS ?",
            arguments: [verified.location, verified.changedAt])
    }

    /// Rejects a storage other than the recorded one, and a missing folder.
    ///
    /// - Parameters:
    ///   - makes: true if a missing folder may be created.
    ///   - isGiven: true if the storage comes from the command line, false if it comes from the database.
    /// - Throws: ``UploaderError``, before anything is created.
    static func require(
        _ location: StorageLocation, file: DatabaseFile, changes: Bool, makes: Bool, isGiven: Bool
    ) throws {
        if let storage = file.storage, storage != location.description, !changes {
            let remembered = StorageLocation.argument(storage, given: file.remembered)
            guard isGiven else {
                throw UploaderError(
                    """
                    The files of \(file.path) are on \(remembered), and without --to this leads to \
                    \(location.argument), because of the \
                    environment or a profile. Give --to with all its settings, such as the endpoint.
                    """
                )
            }
            throw UploaderError(
                """
                The files of \(file.path) are on \(remembered), and --to names \
                \(location.argument). Check --to. If they were \
                moved there, or are to be stored there from now on, add --change-storage.
                """
            )
        }
        guard !location.isThere, !makes || file.storage == location.description else { return }
        throw UploaderError(
            """
            There is no folder \(location.description.dropFirst("dir:".count)) to find the files in. Is its disk \
            mounted?\(isGiven ? " Check --to." : " If it is elsewhere now, give --to.")
            """
        )
    }
}

import Foundation
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

    /// The remembered storage, as `--to` takes it; nil where ``bindingLocation(_:)`` is.
    static func shown(_ db: Database) throws -> String? {
        let argument = try argument(db)
        return try bindingLocation(db).map { StorageLocation.argument($0, given: argument) }
    }

    /// The storage as a later command line may have it; nil while none is remembered.
    static func argument(_ db: Database) throws -> String? {
        guard try db.tableExists(DocumentSchema.ownTable) else { return nil }
        let columns = try DocumentSchema.has("argument", db) ? "argument, location" : "NULL, location"
        let row = try Row.fetchOne(db, sql: "SELECT \(columns) FROM \(DocumentSchema.ownTable)")
        guard let row else { return nil }
        if let argument = String.fromDatabaseValue(row[0]) { return argument }
        // Of a run before arguments were remembered. Only the location of a folder is one as well.
        return String.fromDatabaseValue(row[1]).flatMap { $0.hasPrefix("dir:") ? $0 : nil }
    }

    /// Remembers a storage. Of another one than before nobody knows what it has, until a verification was through.
    static func remember(_ location: StorageLocation, _ given: GivenStorage, _ db: Database) throws {
        if let before = try bindingLocation(db), before != location.description, try DocumentSchema.has("changedAt", db)
        {
            try db.execute(
                sql: "UPDATE \(DocumentSchema.ownTable) SET changedAt = ?", arguments: [Date().timeIntervalSince1970])
        }
        if try DocumentSchema.has("writer", db) {
            // The copies of the database on the other storage are another series.
            try db.execute(
                sql: """
                    UPDATE \(DocumentSchema.ownTable) SET writer = NULL, savedCopy = NULL, startedCopy = NULL
                    WHERE location <> ?
                    """, arguments: [location.description])
        }
        // Another storage has no copy of the database yet.
        let sql = """
            INSERT INTO \(DocumentSchema.ownTable) (id, location) VALUES (1, ?1)
            ON CONFLICT (id) DO UPDATE SET
                savedState = CASE WHEN location = excluded.location THEN savedState END, location = excluded.location
            """
        try db.execute(sql: sql, arguments: [location.description])
        guard try DocumentSchema.has("argument", db) else { return }
        try db.execute(
            sql: "UPDATE \(DocumentSchema.ownTable) SET argument = ?", arguments: [given.remembered(at: location)])
    }

    // MARK: Another storage

    /// Since when the storage is another one that was not verified; nil when it was, or is the same as ever.
    static func changedAt(_ db: Database) throws -> Date? {
        guard try DocumentSchema.has("changedAt", db) else { return nil }
        let sql = "SELECT changedAt FROM \(DocumentSchema.ownTable) WHERE changedAt IS NOT NULL"
        // A value that is no time says all the same that it was changed.
        return try Row.fetchOne(db, sql: sql).map { row in
            Date(timeIntervalSince1970: Double.fromDatabaseValue(row[0]) ?? 0)
        }
    }

    private static func unverifiedStorage(_ db: Database) throws -> String? {
        try changedAt(db) == nil ? nil : try shown(db)
    }

    /// What every push says until somebody has looked: its own files are there, and those of before may not be.
    static func unverified(_ db: Database) throws -> String? {
        guard let storage = try unverifiedStorage(db) else { return nil }
        return """
            the storage was changed to \(storage), and nobody has looked yet whether the files of before are there. \
            Run 'verify --repair', which uploads what is missing, where its bytes are here.
            """
    }

    /// Why no local copy may go: nobody knows whether another storage has the files, which the rows say of the one
    /// before. Nil when there is no reason.
    static func doubt(_ db: Database) throws -> UploaderError? {
        guard let storage = try unverifiedStorage(db) else { return nil }
        return UploaderError(
            """
            The storage was changed to \(storage), and nobody has looked yet whether the files are there, so no local \
            copy is freed. Run 'verify' first: what is missing there is named, and its copies stay.
            """)
    }

    /// What a verification looks at, so that another one is not taken for it when it has ended.
    struct Verified: Sendable {
        fileprivate let location: String
        fileprivate let changedAt: DatabaseValue
    }

    /// - Returns: nil when there is nothing to note, or another storage is looked at than the one that is remembered.
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

    /// Refuses another storage than the one that is remembered, and a folder that is away.
    ///
    /// - Parameters:
    ///   - makes: whether a folder that is not there may be made.
    ///   - isGiven: whether the command line names the storage, and not the database.
    /// - Throws: ``UploaderError``, before anything is made.
    static func require(
        _ location: StorageLocation, _ file: DatabaseFile, changes: Bool, makes: Bool, isGiven: Bool
    ) throws {
        if let storage = file.storage, storage != location.description, !changes {
            let remembered = StorageLocation.argument(storage, given: file.remembered)
            guard isGiven else {
                throw UploaderError(
                    """
                    The files of \(file.path) are on \(remembered), and without --to this leads to \
                    \(location.argument): the \
                    environment or a profile says so. Give --to with all that it takes, such as the endpoint.
                    """
                )
            }
            throw UploaderError(
                """
                The files of \(file.path) are on \(remembered), and --to names \
                \(location.argument). Check --to. If they were \
                moved there, or shall go there from now on, add --change-storage.
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

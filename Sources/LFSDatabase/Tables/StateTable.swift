import Foundation
package import GRDB
import LFSSystem

/// `lfs_state`: the one row in which the database says of itself what concerns all files.
package enum StateTable {
    static let name = "lfs_state"

    /// Whether a column, or value, is an object key of the database that is asked: the file was made by it.
    ///
    /// - Parameter schema: the name of the database with a point behind it, for a temporary trigger.
    static func isOurs(_ key: String, in schema: String = "") -> String {
        "substr(\(key), 1, 33) = (SELECT namespace || '/' FROM \(schema)lfs_state)"
    }

    /// Whether nobody else can have uploaded a `local` file: it has a key of this database, and no other copy of the
    /// database has made it; see ``knowsFrom(_:)``. The first 48 bits of an id are the milliseconds since 1970 at which
    /// it was made.
    static func isOnlyHere(_ id: String, _ key: String) -> String {
        let from = "(SELECT printf('%08x-%04x', sweepsFrom >> 16, sweepsFrom & 65535) FROM lfs_state)"
        return "(\(isOurs(key)) AND substr(\(id), 15, 1) = '7' AND \(id) >= \(from))"
    }

    /// Changes the row in a way that means nothing, so that the commit is synced: SQLite syncs nothing for a
    /// transaction that changes nothing.
    package static func touch(_ db: Database) throws {
        try db.cachedStatement(sql: "UPDATE lfs_state SET barrier = barrier + 1").execute()
    }

    // MARK: Files without a row

    /// The millisecond since 1970 from which on this database knows every file. A file that was made before it and has
    /// no row is kept, because another copy of the database may have its row.
    ///
    /// While a reset has not ended it knows none: the rows are deleted already, and the bytes are not.
    package static func knowsFrom(_ db: Database) throws -> Int64 {
        if try isResetting(db) { return .max }
        return try Int64.fetchOne(db, sql: "SELECT sweepsFrom FROM lfs_state") ?? 0
    }

    /// Notes that files which were made up to now and have no row are to be kept; see ``knowsFrom(_:)``.
    ///
    /// - Parameter now: milliseconds since 1970.
    package static func doubtAll(until now: Int64, _ db: Database) throws {
        try db.execute(sql: "UPDATE lfs_state SET sweepsFrom = max(sweepsFrom, ?)", arguments: [now])
    }

    /// When the last row of a file was written, and from when on files are known, both in milliseconds since 1970.
    package static func times(_ db: Database) throws -> (lastUpdate: Int64, knowsFrom: Int64) {
        guard let row = try Row.fetchOne(db, sql: "SELECT * FROM lfs_state") else { return (0, 0) }
        let checked = CheckedRow(row, of: name)
        let times = Int64.min / 2...Int64.max / 2
        return (try checked.number("updateMillisecond", in: times), try checked.number("sweepsFrom", in: times))
    }

    /// Counts an opening of the database. The number gets larger than the one that the local store has noted. What
    /// another program may have committed within ``applying(_:_:)`` ends.
    ///
    /// Files without a row that were made up to now are kept from then on in two cases: the store has noted a later
    /// opening, so this database is an older copy; or the database was opened before and the store has noted no
    /// opening, so it was used with another folder.
    ///
    /// - Parameters:
    ///   - marker: the number of the opening that the folder has seen last; 0 for none.
    ///   - isNew: whether the folder was made for the first opening.
    ///   - now: milliseconds since 1970.
    /// - Returns: the number of the opening before, and of this one.
    package static func countOpening(
        marker: Int64, isNew: Bool, now: Int64, _ db: Database
    ) throws -> (before: Int64, this: Int64) {
        let before = try generation(db)
        try db.execute(
            sql: """
                UPDATE lfs_state SET generation = max(generation, ?1) + 1, isApplying = 0,
                    sweepsFrom = CASE
                        WHEN generation < ?1 THEN max(sweepsFrom, ?2)
                        WHEN ?1 > 0 OR generation = 0 OR (?3 AND updateMillisecond = 0) THEN sweepsFrom
                        ELSE max(sweepsFrom, ?2) END
                """,
            arguments: [marker, now, isNew])
        return (before, try generation(db))
    }

    private static func generation(_ db: Database) throws -> Int64 {
        try Int64.fetchOne(db, sql: "SELECT generation FROM lfs_state") ?? 0
    }

    // MARK: Resetting

    /// Whether the rows are gone and the bytes are still to go.
    package static func isResetting(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT isResetting FROM lfs_state") ?? false
    }

    /// What a reset that has not ended takes: files made before this millisecond since 1970; nil when there is none.
    package static func resetBefore(_ db: Database) throws -> Int64? {
        try Int64.fetchOne(db, sql: "SELECT resetBefore FROM lfs_state WHERE isResetting = 1")
    }

    /// A number that every reset changes: the millisecond since 1970 that it noted, and the largest number when there
    /// was none. With the database's id it says of which install something is that is kept outside of the database.
    ///
    /// It is a time and no count: a backup that is put back and reset again would count to the same number.
    package static func lastReset(_ db: Database) throws -> Int64 {
        try Int64.fetchOne(db, sql: "SELECT resetBefore FROM lfs_state") ?? .max
    }

    static func beginReset(before: Int64, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE lfs_state SET isResetting = 1, resetBefore = ?1, sweepsFrom = max(sweepsFrom, ?1)",
            arguments: [before])
    }

    package static func endReset(_ db: Database) throws {
        try db.execute(sql: "UPDATE lfs_state SET isResetting = 0")
    }

    // MARK: Other devices

    /// Whether the rows that are being written came from a server.
    ///
    /// - Parameter schema: as for ``isOurs(_:in:)``.
    package static func isApplying(in schema: String = "") -> String {
        "((SELECT isApplying FROM \(schema)lfs_state) IS 1)"
    }

    /// Whether a deletion that is made now is held.
    static let holdsDeletions = "(SELECT holdsDeletions = 1 AND isApplying IS NOT 1 FROM lfs_state)"

    /// Writes rows that came from a server.
    ///
    /// Until it returns, an inserted row queues no upload and may lack its bytes, a deleted one leaves the object on
    /// the storage, and no file is disowned. It is told by a row and not by a function, so it holds for raw SQL as
    /// well.
    ///
    /// It is a savepoint: when the body throws, nothing of it stays. Within another one it runs the body and nothing
    /// else.
    ///
    /// - Parameter isWhole: for a transaction that is given up when the body throws, and so needs no savepoint. Within
    ///   one SQLite keeps what each page was that a statement with triggers changes, until the savepoint ends, and from
    ///   64 KiB on in a file (tempfiles.html, "Statement Journal Files"): for many rows that takes as long as the rest.
    package static func applying(_ db: Database, isWhole: Bool = false, _ body: () throws -> Void) throws {
        if try Bool.fetchOne(db.cachedStatement(sql: "SELECT \(isApplying())")) == true { return try body() }
        func run() throws {
            try db.cachedStatement(sql: "UPDATE lfs_state SET isApplying = 1").execute()
            try body()
            try db.cachedStatement(sql: "UPDATE lfs_state SET isApplying = 0").execute()
        }
        if isWhole { return try run() }
        try db.inSavepoint {
            try run()
            return .commit
        }
    }

    /// Sets whether deletions wait from now on for ``TombstoneTable/accept(_:removesObject:_:)`` or
    /// ``TombstoneTable/reject(_:_:)``. Those that are held already stay so.
    package static func holdDeletions(_ holds: Bool, _ db: Database) throws {
        try db.execute(sql: "UPDATE lfs_state SET holdsDeletions = ?1 WHERE holdsDeletions <> ?1", arguments: [holds])
    }

    // MARK: Outages

    /// Why the storage as a whole is of no use now; nil when it is there, or was never asked.
    package static func outage(_ db: Database) throws -> (code: String, message: String, since: Int64)? {
        let row = try Row.fetchOne(
            db, sql: "SELECT outageCode, outageMessage, outageSince FROM lfs_state WHERE outageCode IS NOT NULL")
        guard let row, let code = String.fromDatabaseValue(row["outageCode"]) else { return nil }
        return (
            code, String.fromDatabaseValue(row["outageMessage"]) ?? "",
            Int64.fromDatabaseValue(row["outageSince"]) ?? 0
        )
    }

    /// - Parameter now: milliseconds since 1970; an outage that is noted already keeps its time.
    package static func noteOutage(_ outage: (code: String, message: String)?, now: Int64, _ db: Database) throws {
        try db.execute(
            sql: """
                UPDATE lfs_state SET outageCode = ?1, outageMessage = ?2,
                    outageSince = CASE WHEN ?1 IS NULL THEN NULL ELSE coalesce(outageSince, ?3) END
                WHERE outageCode IS NOT ?1 OR outageMessage IS NOT ?2
                """,
            arguments: [outage?.code, outage?.message, now])
    }

    // MARK: Failing and waiting

    /// Since when uploads fail and none has succeeded, in milliseconds since 1970; nil when the last one did succeed.
    /// Version 1 of the tables does not know it.
    package static func failingSince(_ db: Database) throws -> Int64? {
        let row = try Row.fetchOne(db, sql: "SELECT * FROM lfs_state")
        return (row?["failingSince"] as DatabaseValue?).flatMap(Int64.fromDatabaseValue)
    }

    /// Notes a failure, or with nil a success. The time of the first failure stays.
    ///
    /// - Parameter now: milliseconds since 1970.
    package static func noteFailing(_ now: Int64?, _ db: Database) throws {
        let change = """
            UPDATE lfs_state SET failingSince = CASE WHEN ?1 IS NULL THEN NULL ELSE coalesce(failingSince, ?1) END
            WHERE (failingSince IS NULL) IS NOT (?1 IS NULL)
            """
        try db.cachedStatement(sql: change).execute(arguments: [now])
    }

    /// What all uploads wait for; nil when they wait for nothing. Version 1 of the tables does not know it.
    package static func hold(_ db: Database) throws -> (reason: String, since: Int64)? {
        let row = try Row.fetchOne(db, sql: "SELECT * FROM lfs_state")
        guard let reason = (row?["holdReason"] as DatabaseValue?).flatMap(String.fromDatabaseValue) else { return nil }
        return (reason, (row?["holdSince"] as DatabaseValue?).flatMap(Int64.fromDatabaseValue) ?? 0)
    }

    /// - Parameter now: milliseconds since 1970; a hold that is noted already keeps its time.
    package static func noteHold(_ reason: String?, now: Int64, _ db: Database) throws {
        try db.execute(
            sql: """
                UPDATE lfs_state SET holdReason = ?1,
                    holdSince = CASE WHEN ?1 IS NULL THEN NULL ELSE coalesce(holdSince, ?2) END
                WHERE holdReason IS NOT ?1
                """,
            arguments: [reason, now])
    }
}

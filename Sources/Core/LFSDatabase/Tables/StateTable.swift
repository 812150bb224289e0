import Foundation
package import GRDB
import LFSSystem

/// `lfs_state`: the single row with the state of the whole database.
package enum StateTable {
    static let name = "lfs_state"

    /// Returns an SQL condition that is true if a key belongs to this database, which then created the file.
    ///
    /// - Parameter schema: the name of the database followed by a dot, for a temporary trigger.
    static func isOurs(_ key: String, in schema: String = "") -> String {
        "substr(\(key), 1, 33) = (SELECT namespace || '/' FROM \(schema)lfs_state)"
    }

    /// Returns an SQL condition that is true if no other device can have uploaded a `local` file. The file has a key of
    /// this database, and no other copy of the database created it. See ``knowsFrom(_:)``. The first 48 bits of an id
    /// are its creation time in milliseconds since 1970.
    static func isOnlyHere(_ id: String, key: String) -> String {
        let from = "(SELECT printf('%08x-%04x', sweepsFrom >> 16, sweepsFrom & 65535) FROM lfs_state)"
        return "(\(isOurs(key)) AND substr(\(id), 15, 1) = '7' AND \(id) >= \(from))"
    }

    /// Updates a counter in the row so that SQLite syncs the commit. It does not sync a transaction without changes.
    package static func touch(_ db: Database) throws {
        try db.cachedStatement(sql: "UPDATE lfs_state SET barrier = barrier + 1").execute()
    }

    // MARK: Files without a row

    /// Returns the time from which this database knows every file, in milliseconds since 1970. An earlier file without
    /// a row is kept, because another copy of the database may have its row.
    ///
    /// During an unfinished reset the database knows no file, because the rows are already deleted and the bytes are
    /// not. Then the result is the largest number.
    package static func knowsFrom(_ db: Database) throws -> Int64 {
        if try isResetting(db) { return .max }
        return try Int64.fetchOne(db, sql: "SELECT sweepsFrom FROM lfs_state") ?? 0
    }

    /// Records that files without a row must be kept if they were created until now. See ``knowsFrom(_:)``.
    ///
    /// - Parameter now: milliseconds since 1970.
    package static func doubtAll(until now: Int64, _ db: Database) throws {
        try db.execute(sql: "UPDATE lfs_state SET sweepsFrom = max(sweepsFrom, ?)", arguments: [now])
    }

    /// Returns the time of the last write to a file's row, and the time from which files are known, in milliseconds
    /// since 1970.
    package static func times(_ db: Database) throws -> (lastUpdate: Int64, knowsFrom: Int64) {
        guard let row = try Row.fetchOne(db, sql: "SELECT * FROM lfs_state") else { return (0, 0) }
        let checked = CheckedRow(row, of: name)
        let times = Int64.min / 2...Int64.max / 2
        return (try checked.number("updateMillisecond", in: times), try checked.number("sweepsFrom", in: times))
    }

    /// The openings that the database has counted.
    package struct Openings: Sendable {
        package let count: Int64
        /// The number that the last opening has written, plus the number of durable commits since. Nil if another
        /// program has written something else.
        package let barrier: Int64?
    }

    /// Counts an opening of the database. The new number exceeds the one that the local store has recorded. If another
    /// program has committed within ``applying(_:_:)``, this state ends.
    ///
    /// Files without a row that were created until now are kept in two cases. In the first, the store has recorded a
    /// later opening, so this database is an older copy. In the second, the database was opened before and the store
    /// has recorded no opening, so the database was used with another folder.
    ///
    /// - Parameters:
    ///   - marker: the number of the last opening that used the folder, 0 for none.
    ///   - isNew: true if the folder was created for the first opening.
    ///   - barrier: a number that identifies this opening.
    ///   - now: milliseconds since 1970.
    /// - Returns: the openings before this one, and the number of this one.
    package static func countOpening(
        marker: Int64, isNew: Bool, barrier: Int64, now: Int64, _ db: Database
    ) throws -> (before: Openings, this: Int64) {
        let before = try openings(db)
        try db.execute(
            sql: """
                UPDATE lfs_state SET generation = max(generation, ?1) + 1, barrier = ?4, isApplying = 0,
                    sweepsFrom = CASE
                        WHEN generation < ?1 THEN max(sweepsFrom, ?2)
                        WHEN ?1 > 0 OR generation = 0 OR (?3 AND updateMillisecond = 0) THEN sweepsFrom
                        ELSE max(sweepsFrom, ?2) END
                """,
            arguments: [marker, now, isNew, barrier])
        return (before, try openings(db).count)
    }

    private static func openings(_ db: Database) throws -> Openings {
        let row = try Row.fetchOne(db, sql: "SELECT generation, barrier FROM lfs_state")
        return Openings(
            count: row.flatMap { Int64.fromDatabaseValue($0[0]) } ?? 0,
            barrier: row.flatMap { Int64.fromDatabaseValue($0[1]) })
    }

    // MARK: Resetting

    /// Returns true if a reset has deleted the rows and not yet removed the bytes.
    package static func isResetting(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT isResetting FROM lfs_state") ?? false
    }

    /// Returns the limit of an unfinished reset, which removes files created before this time in milliseconds since
    /// 1970. Nil if no reset is unfinished.
    package static func resetBefore(_ db: Database) throws -> Int64? {
        try Int64.fetchOne(db, sql: "SELECT resetBefore FROM lfs_state WHERE isResetting = 1")
    }

    /// Returns a number that every reset changes: its time in milliseconds since 1970, or the largest number if there
    /// was no reset. Together with the database's id it shows to which install data outside of the database belongs.
    ///
    /// It is a time rather than a count. A backup that is restored and reset again would reach the same count.
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

    /// Returns an SQL condition that is true while rows from a server are written.
    ///
    /// - Parameter schema: see ``isOurs(_:in:)``.
    package static func isApplying(in schema: String = "") -> String {
        "((SELECT isApplying FROM \(schema)lfs_state) IS 1)"
    }

    /// An SQL condition that is true if a deletion made now is held.
    static let holdsDeletions = "(SELECT holdsDeletions = 1 AND isApplying IS NOT 1 FROM lfs_state)"

    /// Writes rows that came from a server.
    ///
    /// Until it returns, an inserted row queues no upload and may lack its bytes. A deleted row leaves the object on
    /// the storage, and no file is disowned. The state is stored in a row rather than provided by a function, so it
    /// also applies to raw SQL.
    ///
    /// The call is a savepoint: if the body throws, its changes are rolled back. A nested call only runs the body.
    ///
    /// - Parameter isWhole: true inside a transaction that is rolled back when the body throws, and therefore needs no
    ///   savepoint. In a savepoint, SQLite keeps the original of each page that a statement with triggers changes, from
    ///   64 KiB on in a file (tempfiles.html, "Statement Journal Files"). For many rows that takes as long as all other
    ///   work.
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

    /// Sets whether later deletions wait for ``TombstoneTable/accept(_:removesObject:_:)`` or
    /// ``TombstoneTable/reject(_:_:)``. Deletions that are already held stay held.
    package static func holdDeletions(_ holds: Bool, _ db: Database) throws {
        try db.execute(sql: "UPDATE lfs_state SET holdsDeletions = ?1 WHERE holdsDeletions <> ?1", arguments: [holds])
    }

    // MARK: Outages

    /// Returns the reason why the whole storage is unavailable now. Nil if it is available, or was never contacted.
    package static func outage(_ db: Database) throws -> (code: String, message: String, since: Int64)? {
        let row = try Row.fetchOne(
            db, sql: "SELECT outageCode, outageMessage, outageSince FROM lfs_state WHERE outageCode IS NOT NULL")
        guard let row, let code = String.fromDatabaseValue(row["outageCode"]) else { return nil }
        return (
            code, String.fromDatabaseValue(row["outageMessage"]) ?? "",
            Int64.fromDatabaseValue(row["outageSince"]) ?? 0
        )
    }

    /// - Parameter now: milliseconds since 1970. An outage that is already recorded keeps its time.
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

    /// Returns the time since which all uploads have failed, in milliseconds since 1970. Nil if the last one succeeded.
    /// Version 1 of the tables does not have this column.
    package static func failingSince(_ db: Database) throws -> Int64? {
        let row = try Row.fetchOne(db, sql: "SELECT * FROM lfs_state")
        return (row?["failingSince"] as DatabaseValue?).flatMap(Int64.fromDatabaseValue)
    }

    /// Records a failure, or with nil a success. The time of the first failure stays.
    ///
    /// - Parameter now: milliseconds since 1970.
    package static func noteFailing(_ now: Int64?, _ db: Database) throws {
        let change = """
            UPDATE lfs_state SET failingSince = CASE WHEN ?1 IS NULL THEN NULL ELSE coalesce(failingSince, ?1) END
            WHERE (failingSince IS NULL) IS NOT (?1 IS NULL)
            """
        try db.cachedStatement(sql: change).execute(arguments: [now])
    }

    /// Returns the reason why all uploads wait, or nil if they do not. Version 1 of the tables does not have this
    /// column.
    package static func hold(_ db: Database) throws -> (reason: String, since: Int64)? {
        let row = try Row.fetchOne(db, sql: "SELECT * FROM lfs_state")
        guard let reason = (row?["holdReason"] as DatabaseValue?).flatMap(String.fromDatabaseValue) else { return nil }
        return (reason, (row?["holdSince"] as DatabaseValue?).flatMap(Int64.fromDatabaseValue) ?? 0)
    }

    /// - Parameter now: milliseconds since 1970. A hold that is already recorded keeps its time.
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

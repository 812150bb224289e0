package import GRDB
package import LFSSystem

/// `lfs_loan`: the uploads that are lent to a service of the system, with one row per part.
///
/// The job of a lent upload is not due until the loan ends. Its `notBefore` is the end of the loan, and a job with
/// another value is no longer lent. The rows outlive their file, because its deletion must first cancel the tasks.
package enum LoanTable {
    static let name = "lfs_loan"

    /// The longest time of a loan. A row with a later end was written before the clock was set back, or by another
    /// program. It delays nothing.
    package static let longest = Duration.seconds(24 * 3_600)

    // MARK: Reading

    /// Returns the parts of all loans, also of those that have ended.
    ///
    /// - Parameter now: milliseconds since 1970.
    package static func all(now: Int64, _ db: Database) throws -> [RowResult<LoanRow>] {
        let isLent = "until > ?1 AND until <= ?2 AND \(JobTable.isLent("l.fileID", until: "l.until"))"
        let sql = """
            SELECT \(FileTable.bytes("l.fileID")), l.*, \(isLent) AS isLent FROM lfs_loan l ORDER BY fileID, part
            """
        return try RowResult.fetchAll(db, sql: sql, arguments: [now, now + longest.milliseconds])
    }

    /// Returns those of the files that have a loan, also one whose time is over. Its tasks may still be running.
    package static func recorded(_ ids: some Collection<FileID>, _ db: Database) throws -> Set<FileID> {
        let sql = "SELECT DISTINCT fileID FROM lfs_loan WHERE fileID IN (\(databaseQuestionMarks(count: ids.count)))"
        return try FileID.fetchSet(db, sql: sql, arguments: StatementArguments(ids))
    }

    /// Returns those of the files whose loans have not ended.
    ///
    /// - Parameter now: milliseconds since 1970.
    package static func lent(_ ids: some Collection<FileID>, now: Int64, _ db: Database) throws -> Set<FileID> {
        let sql = """
            SELECT DISTINCT fileID FROM lfs_loan
            WHERE until > ? AND until <= ? AND fileID IN (\(databaseQuestionMarks(count: ids.count)))
            """
        let times = StatementArguments([now, now + longest.milliseconds])
        return try FileID.fetchSet(db, sql: sql, arguments: times + StatementArguments(ids))
    }

    /// Returns the number of deleted files whose loans have not ended.
    ///
    /// - Parameter now: milliseconds since 1970.
    package static func deletedCount(now: Int64, _ db: Database) throws -> Int {
        let sql = """
            SELECT count(DISTINCT fileID) FROM lfs_loan
            WHERE until > ? AND until <= ? AND fileID IN (SELECT fileID FROM \(TombstoneTable.name))
            """
        return try Int.fetchOne(db.cachedStatement(sql: sql), arguments: [now, now + longest.milliseconds]) ?? 0
    }

    // MARK: Writing

    /// Lends an upload, so that nothing else starts it. Its parts follow with ``begin(_:parts:now:_:)``.
    ///
    /// - Returns: the new loan. Nil if the job has changed since it was read, or if the file has an earlier loan.
    package static func lend(_ job: JobRow, until: Int64, _ db: Database) throws -> LoanRow? {
        guard try !contains(job.id, db),
            try JobTable.postpone(JobTable.Attempt(job.id, turn: job.notBefore), until: until, db)
        else { return nil }
        let loan = LoanRow(part: LentPart(fileID: job.id, number: 0), until: until)
        try insert(loan, db)
        return loan
    }

    /// Replaces the row of a new loan with the rows of its parts.
    ///
    /// - Parameter now: milliseconds since 1970.
    /// - Returns: false if the loan has ended or was taken back in the meantime. Then no task may be started.
    package static func begin(_ loan: LoanRow, parts: [LentPart], now: Int64, _ db: Database) throws -> Bool {
        guard try isRunning(loan, now: now, db), try remove(loan.part, db) else { return false }
        for part in parts { try insert(LoanRow(part: part, until: loan.until), db) }
        return true
    }

    /// Removes the row of a part whose task has ended. The last one of a file gives the job back, which is due at once.
    ///
    /// - Returns: false for a part without a row.
    package static func end(_ part: LentPart, now: Int64, _ db: Database) throws -> Bool {
        let sql = "SELECT until FROM lfs_loan WHERE fileID = ? AND part = ? AND nonce = ?"
        let until = try Int64.fetchOne(
            db.cachedStatement(sql: sql), arguments: [part.fileID, part.number, part.nonce])
        guard let until, try remove(part, db) else { return false }
        if try !contains(part.fileID, db) { try giveBack(part.fileID, until: until, now: now, db) }
        return true
    }

    /// Ends the loan of a file with all of its parts. Its job is due at once.
    package static func end(_ id: FileID, now: Int64, _ db: Database) throws {
        let sql = "SELECT DISTINCT until FROM lfs_loan WHERE fileID = ?"
        for until in try Int64.fetchAll(db, sql: sql, arguments: [id]) {
            try giveBack(id, until: until, now: now, db)
        }
        try db.execute(sql: "DELETE FROM lfs_loan WHERE fileID = ?", arguments: [id])
    }

    /// Removes the rows of an id, of which one cannot be read.
    ///
    /// - Parameter bytes: the bytes of the id.
    package static func remove(bytes: DatabaseValue, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM lfs_loan WHERE \(FileTable.bytes("fileID")) = ?", arguments: [bytes])
    }

    /// Removes all rows except those of deleted files, whose tasks must still be cancelled.
    static func removeAllButDeleted(_ db: Database) throws {
        try db.execute(sql: "DELETE FROM lfs_loan WHERE fileID NOT IN (SELECT fileID FROM \(TombstoneTable.name))")
    }

    /// Makes a lent job due. After the end of the loan it is due already, and its upload may be running.
    private static func giveBack(_ id: FileID, until: Int64, now: Int64, _ db: Database) throws {
        guard until > now else { return }
        _ = try JobTable.postpone(JobTable.Attempt(id, turn: until), until: now, db)
    }

    /// Returns true if the time of a loan is not over, and its job is still lent until then.
    private static func isRunning(_ loan: LoanRow, now: Int64, _ db: Database) throws -> Bool {
        guard loan.until > now, loan.until <= now + longest.milliseconds else { return false }
        let sql = "SELECT \(JobTable.isLent("?1", until: "?2"))"
        return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [loan.part.fileID, loan.until]) ?? false
    }

    private static func contains(_ id: FileID, _ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM lfs_loan WHERE fileID = ?)"
        return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [id]) ?? false
    }

    private static func insert(_ row: LoanRow, _ db: Database) throws {
        let sql = "INSERT INTO lfs_loan (fileID, part, nonce, until) VALUES (?, ?, ?, ?)"
        try db.cachedStatement(sql: sql).execute(
            arguments: [row.part.fileID, row.part.number, row.part.nonce, row.until])
    }

    private static func remove(_ part: LentPart, _ db: Database) throws -> Bool {
        let sql = "DELETE FROM lfs_loan WHERE fileID = ? AND part = ? AND nonce = ?"
        try db.cachedStatement(sql: sql).execute(arguments: [part.fileID, part.number, part.nonce])
        return db.changesCount > 0
    }
}

/// A row of `lfs_loan`: a part that the service uploads, or a loan whose parts are not known yet.
package struct LoanRow: FetchableRecord, Hashable, Sendable {
    /// The part, with the number 0 while the parts are not known.
    package let part: LentPart
    /// The end of the loan in milliseconds since 1970.
    package let until: Int64
    /// True until the loan ends. It also ends when the job is due for another reason, such as a retry, or is gone after
    /// an upload, a cancellation or a deletion.
    package let isLent: Bool

    package init(part: LentPart, until: Int64) {
        self.part = part
        self.until = until
        isLent = true
    }

    package init(row: Row) throws {
        let checked = CheckedRow(row, of: LoanTable.name, name: "fileID")
        part = LentPart(
            fileID: try checked.value("fileID"), number: try checked.number("part", in: 0...Self.mostParts),
            nonce: try checked.value("nonce"))
        until = try checked.value("until")
        isLent = try checked.value("isLent")
    }

    /// A limit above the parts of any upload.
    private static let mostParts = 100_000
}

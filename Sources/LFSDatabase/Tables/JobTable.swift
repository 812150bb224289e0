package import Foundation
package import GRDB
package import LFSSystem

/// `lfs_job`: what this device has to upload, and what it has noted of files that it cannot upload or read.
package enum JobTable {
    package static let name = "lfs_job"

    /// What a job says of its file.
    package enum State: String, Sendable {
        /// It waits for its upload, or its upload runs.
        case queued
        /// Its upload was given up, or its bytes are noted as lost or damaged.
        case failed
        /// Somebody has cancelled its upload.
        case cancelled
    }

    /// The error code of a job whose bytes a verification has found nowhere, or damaged everywhere.
    package static let lostCode = "lost"
    /// The error code of a job whose object has given other bytes than the file's, or none, to who read it.
    package static let damagedCode = "damaged"
    /// The error code of a job whose object a verification has found missing while the right bytes were here.
    package static let missingCode = "objectMissing"
    /// The error code of a job whose object a verification has found missing, or told to be another one by the storage,
    /// while no right bytes were here. It is no loss before a repair, or a person, has said so.
    package static let goneCode = "objectGone"
    /// What an upload cannot mend, because there are no right bytes to send.
    package static let codesWithoutRightBytes = [lostCode, damagedCode, goneCode]

    // MARK: Conditions

    /// Whether a file has a job in any state.
    static func contains(_ id: String) -> String { "EXISTS (SELECT 1 FROM lfs_job WHERE fileID = \(id))" }
    /// Whether a file waits for its upload.
    static func isQueued(_ id: String) -> String {
        "EXISTS (SELECT 1 FROM lfs_job WHERE fileID = \(id) AND state = 'queued')"
    }
    /// Whether a file's upload has failed, or takes the place of an object that is not as it should be.
    static func isInTrouble(_ id: String) -> String {
        "EXISTS (SELECT 1 FROM lfs_job WHERE fileID = \(id) AND (state <> 'queued' OR replacesObject = 1))"
    }
    static func isNotedAsLost(_ id: String) -> String {
        "EXISTS (SELECT 1 FROM lfs_job WHERE fileID = \(id) AND state = 'failed' AND errorCode = '\(lostCode)')"
    }
    /// Joins the job, if there is one, to the row of a file.
    static func joined(to alias: String) -> String { "LEFT JOIN lfs_job j ON j.fileID = \(alias).id" }
    /// What ``RowState`` reads of a joined job.
    static let stateColumns = """
        j.state AS jobState, j.notBefore, j.errorCode, j.errorMessage, j.replacesObject
        """

    // MARK: The queue

    private static let uploads = """
        SELECT j.fileID, f.key, f.byteCount, f.sha256, f.crc64, f.contentType, f.name, j.attempts, j.checkpoint,
            j.errorCode, j.sentBytes, j.sentSince, j.replacesObject, j.notBefore
        FROM lfs_job j \(FileTable.joined(to: "j")) WHERE j.state = 'queued' AND j.lane = ?
        """

    /// Uploads whose time has come, the oldest first.
    ///
    /// - Parameters:
    ///   - lane: 1 for large files, 0 for others.
    ///   - now: milliseconds since 1970.
    package static func due(lane: Int, now: Int64, limit: Int, _ db: Database) throws -> [RowResult<JobRow>] {
        let sql = uploads + " AND j.notBefore <= ? ORDER BY j.notBefore, j.fileID LIMIT ?"
        return try RowResult.fetchAll(db.cachedStatement(sql: sql), arguments: [lane, now, limit])
    }

    /// Uploads whose time is further away than any wait can be, which a clock that was set back since has written.
    package static func outOfReach(
        lane: Int, furthest: Int64, limit: Int, _ db: Database
    ) throws -> [RowResult<JobRow>] {
        let sql = uploads + " AND j.notBefore > ? ORDER BY j.notBefore, j.fileID LIMIT ?"
        return try RowResult.fetchAll(db.cachedStatement(sql: sql), arguments: [lane, furthest, limit])
    }

    /// When the next upload comes due, in milliseconds since 1970; nil when none waits.
    package static func nextDue(lane: Int, after now: Int64, furthest: Int64, _ db: Database) throws -> Int64? {
        let sql = """
            SELECT min(notBefore) FROM lfs_job WHERE state = 'queued' AND lane = ? AND notBefore > ? AND notBefore <= ?
            """
        return try Int64.fetchOne(db.cachedStatement(sql: sql), arguments: [lane, now, furthest])
    }

    package static func hasQueued(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM lfs_job WHERE state = 'queued')") ?? false
    }

    package static func count(_ state: State, _ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM lfs_job WHERE state = ?", arguments: [state.rawValue]) ?? 0
    }

    /// The bytes that wait for their upload. The sum of odd rows may be too large for an integer, and is no error.
    package static func queuedByteCount(_ db: Database) throws -> Int64 {
        let sql = "SELECT CAST(total(byteCount) AS INTEGER) FROM lfs_job WHERE state = 'queued'"
        return try Int64.fetchOne(db, sql: sql) ?? 0
    }

    /// How the queue stands, in one look that reads each of its rows.
    package static func backlog(_ db: Database) throws -> Backlog {
        var backlog = Backlog(failed: try count(.failed, db))
        let sums = "SELECT count(*), CAST(total(byteCount) AS INTEGER) FROM lfs_job WHERE state = 'queued'"
        if let row = try Row.fetchOne(db.cachedStatement(sql: sums)) {
            (backlog.queued, backlog.queuedBytes) = (row[0], row[1])
        }
        // Ids begin with their time. The plus keeps SQLite from reading and sorting the whole queue for the first of
        // them.
        let oldest = """
            SELECT f.createdAt FROM lfs_job j \(FileTable.joined(to: "j")) WHERE +j.state = 'queued'
            ORDER BY j.fileID LIMIT 1
            """
        let date = try DatabaseValue.fetchOne(db.cachedStatement(sql: oldest)).flatMap(Date.fromDatabaseValue)
        backlog.oldest = date.flatMap { FileRow.dates.contains($0) ? $0 : nil }
        return backlog
    }

    // MARK: Queueing

    /// The columns of a job that is made for the row of a file. What it has beyond them begins with its default.
    ///
    /// - Parameter now: an SQL expression for milliseconds since 1970.
    static func insertion(_ more: String = "", of alias: String, now: String) -> (columns: String, values: String) {
        (
            "fileID, lane, byteCount, notBefore\(more)",
            "\(alias).id, \(alias).byteCount >= \(LargeFile.byteCount), \(alias).byteCount, \(now)"
        )
    }

    private static func insertion(_ more: String, _ values: String) -> String {
        let made = insertion(", " + more, of: "f", now: "?2")
        return """
            INSERT INTO lfs_job (\(made.columns)) SELECT \(made.values), \(values)
            FROM \(FileTable.name) f WHERE f.id = ?1
            """
    }

    /// Queues an upload for a row in either state, unless the row has gone. Of a `remote` row every byte is sent,
    /// whatever the storage says of the object that is there.
    package static func queue(_ id: FileID, now: Int64, _ db: Database) throws {
        try db.execute(
            sql: """
                \(insertion("replacesObject", "f.status = 'remote'"))
                ON CONFLICT (fileID) DO UPDATE SET state = 'queued', attempts = 0, notBefore = ?2,
                    errorCode = NULL, errorMessage = NULL, checkpoint = NULL,
                    replacesObject = max(replacesObject, excluded.replacesObject)
                """,
            arguments: [id, now])
    }

    private static let again = """
        UPDATE lfs_job SET state = 'queued', attempts = 0, notBefore = ?, errorCode = NULL, errorMessage = NULL,
            sentBytes = 0, sentSince = 0
        WHERE state IN ('failed', 'cancelled')
        """

    /// Queues what has failed or was cancelled, but not what has no right bytes, and puts off no more what was tried.
    ///
    /// - Returns: how many had failed or were cancelled.
    package static func queueAllAgain(now: Int64, _ db: Database) throws -> Int {
        try db.execute(
            sql: "UPDATE lfs_job SET notBefore = ?1 WHERE state = 'queued' AND notBefore > ?1 AND attempts > 0",
            arguments: [now])
        let codes = codesWithoutRightBytes.map { "'\($0)'" }.joined(separator: ", ")
        try db.execute(sql: again + " AND coalesce(errorCode, '') NOT IN (\(codes))", arguments: [now])
        return db.changesCount
    }

    /// Queues a file whose upload has failed or was cancelled. Returns whether it had.
    package static func queueAgain(_ id: FileID, now: Int64, _ db: Database) throws -> Bool {
        try db.cachedStatement(sql: again + " AND fileID = ?").execute(arguments: [now, id])
        return db.changesCount > 0
    }

    /// Puts off an upload that nobody has tried yet.
    ///
    /// - Parameter notBefore: milliseconds since 1970.
    package static func begin(_ id: FileID, notBefore: Int64, _ db: Database) throws {
        let sql = """
            UPDATE lfs_job SET notBefore = ?2 WHERE fileID = ?1 AND state = 'queued' AND attempts = 0 AND notBefore < ?2
            """
        try db.cachedStatement(sql: sql).execute(arguments: [id, notBefore])
    }

    package static func cancel(_ id: FileID, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE lfs_job SET state = 'cancelled' WHERE fileID = ? AND state = 'queued'", arguments: [id])
    }

    // MARK: Outcomes

    /// A try of an upload, by the file and by the turn in which its job was taken. Its outcome is written only while
    /// the job still has that turn: a job that was queued again meanwhile has another one.
    package struct Try {
        let id: FileID
        let turn: Int64

        package init(_ id: FileID, turn: Int64) { (self.id, self.turn) = (id, turn) }
    }

    /// Puts an upload off after a try that failed.
    package static func putOff(
        _ failed: Try, until notBefore: Int64, attempts: Int, code: String, message: String, sentBytes: Int64,
        sentSince: Int64, _ db: Database
    ) throws {
        let sql = """
            UPDATE lfs_job SET attempts = ?, notBefore = ?, errorCode = ?, errorMessage = ?,
                sentBytes = ?, sentSince = ?
            WHERE fileID = ? AND state = 'queued' AND notBefore = ?
            """
        try db.cachedStatement(sql: sql).execute(
            arguments: [attempts, notBefore, code, message, sentBytes, sentSince, failed.id, failed.turn])
    }

    /// Gives an upload up after a try that failed.
    package static func fail(_ failed: Try, code: String, message: String, _ db: Database) throws {
        let sql = """
            UPDATE lfs_job SET state = 'failed', attempts = attempts + 1, errorCode = ?, errorMessage = ?
            WHERE fileID = ? AND state = 'queued' AND notBefore = ?
            """
        try db.cachedStatement(sql: sql).execute(arguments: [code, message, failed.id, failed.turn])
    }

    /// Gives up the upload of a row that another program has written so that it cannot be uploaded.
    ///
    /// - Parameter place: its first column, as it is stored.
    /// - Returns: whether it was found again by that, which text with a NUL in it is not.
    package static func fail(_ place: DatabaseValue, code: String, message: String, _ db: Database) throws -> Bool {
        let sql = """
            UPDATE lfs_job SET state = 'failed', errorCode = ?, errorMessage = ?
            WHERE fileID = ? AND state = 'queued'
            """
        try db.execute(sql: sql, arguments: [code, message, place])
        return db.changesCount > 0
    }

    package static func save(checkpoint: Data, of id: FileID, _ db: Database) throws {
        try db.execute(sql: "UPDATE lfs_job SET checkpoint = ? WHERE fileID = ?", arguments: [checkpoint, id])
    }

    package static func remove(_ id: FileID, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM lfs_job WHERE fileID = ?").execute(arguments: [id])
    }

    /// The row may have been deleted and inserted again since an upload was skipped, or its upload may have been queued
    /// again, and then it has a job anew.
    package static func removeWithoutFile(_ id: FileID, _ db: Database) throws {
        let sql = "DELETE FROM lfs_job WHERE fileID = ?1 AND NOT \(FileTable.contains("?1"))"
        try db.cachedStatement(sql: sql).execute(arguments: [id])
    }

    static func removeAll(_ db: Database) throws { try db.execute(sql: "DELETE FROM lfs_job") }

    // MARK: Failures

    /// Uploads that were given up, in the order in which their files were made.
    package static func failures(limit: Int, _ db: Database) throws -> [RowResult<JobFailure>] {
        try RowResult.fetchAll(
            db,
            sql: "SELECT fileID, errorCode, errorMessage FROM lfs_job WHERE state = 'failed' ORDER BY fileID LIMIT ?",
            arguments: [limit])
    }

    /// Files that have failed with one of these codes.
    package static func failed(with codes: [String], _ db: Database) throws -> Set<FileID> {
        let marks = databaseQuestionMarks(count: codes.count)
        return try Set(
            DatabaseValue.fetchAll(
                db, sql: "SELECT fileID FROM lfs_job WHERE state = 'failed' AND errorCode IN (\(marks))",
                arguments: StatementArguments(codes)
            ).compactMap(FileID.fromDatabaseValue))
    }

    // MARK: Losses

    /// Notes that a file's right bytes are nowhere.
    package static func noteLoss(of id: FileID, _ reason: String, now: Int64, _ db: Database) throws {
        try db.execute(
            sql: """
                \(insertion("state, errorCode, errorMessage", "'failed', ?3, ?4"))
                ON CONFLICT (fileID) DO UPDATE SET state = 'failed', errorCode = ?3, errorMessage = ?4
                """,
            arguments: [id, now, lostCode, reason])
    }

    /// Notes that other bytes than the file's were read from its object, or none. A loss that is noted stays one.
    package static func noteDamage(of id: FileID, _ reason: String, now: Int64, _ db: Database) throws {
        let columns = "state, errorCode, errorMessage, replacesObject"
        try db.execute(
            sql: """
                \(insertion(columns, "'failed', ?3, ?4, 1")) AND f.status = 'remote'
                ON CONFLICT (fileID) DO UPDATE SET replacesObject = 1,
                    errorCode = CASE WHEN state = 'failed' AND errorCode IS NOT ?5 THEN ?3 ELSE errorCode END,
                    errorMessage = CASE state WHEN 'failed' THEN ?4 ELSE errorMessage END
                """,
            arguments: [id, now, damagedCode, reason, lostCode])
    }

    /// Notes that the storage does not have a file's object. Right bytes that are here stay until it has. What a job
    /// says already stays.
    ///
    /// - Parameter hasBytes: whether right bytes are here, or may be.
    package static func noteMissing(
        of id: FileID, _ reason: String, hasBytes: Bool = true, now: Int64, _ db: Database
    ) throws {
        try db.execute(
            sql: """
                \(insertion("state, errorCode, errorMessage", "'failed', ?3, ?4")) AND f.status = 'remote'
                ON CONFLICT (fileID) DO NOTHING
                """,
            arguments: [id, now, hasBytes ? missingCode : goneCode, reason])
    }

    /// Removes the note of a loss that is none any more, of a file that is on the storage.
    package static func removeNote(of id: FileID, _ db: Database) throws {
        try db.execute(
            sql: "DELETE FROM lfs_job WHERE fileID = ?1 AND state = 'failed' AND \(FileTable.isRemote("?1"))",
            arguments: [id])
    }

    /// What says of a file on the storage that it is lost, missing or damaged.
    private static let noteOfLoss = """
        FROM lfs_job WHERE fileID = ?1 AND state = 'failed'
            AND (errorCode IN ('\(lostCode)', '\(missingCode)', '\(goneCode)') OR replacesObject = 1)
            AND \(FileTable.isRemote("?1"))
        """

    /// Whether the rows of a file say less than that its object is right.
    package static func isInDoubt(_ id: FileID, _ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 \(noteOfLoss)) OR \(FileTable.isUnproven("?1"))"
        return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [id]) ?? false
    }

    /// Notes that right bytes were read from a file's object: it is proven, and neither lost, missing nor damaged.
    ///
    /// Of a row that is not `remote` a note of a loss stays: its object has to be made first, as a repair does.
    package static func noteRightBytes(of id: FileID, _ db: Database) throws {
        try db.execute(sql: "DELETE \(noteOfLoss)", arguments: [id])
        try FileTable.noteProof(id, db)
    }
}

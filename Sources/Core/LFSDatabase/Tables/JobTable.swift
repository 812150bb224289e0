package import Foundation
package import GRDB
package import LFSSystem

/// `lfs_job`: the upload queue of this device, and its records of files that it cannot upload or read.
package enum JobTable {
    package static let name = "lfs_job"

    /// The state of a file's job.
    package enum State: String, Sendable {
        /// The upload is pending or running.
        case queued
        /// The upload was given up, or the bytes are recorded as lost or damaged.
        case failed
        /// The upload was cancelled.
        case cancelled
    }

    /// The error code of a job whose bytes a verification did not find anywhere, or found only damaged.
    package static let lostCode = "lost"
    /// The error code of a job whose object returned wrong bytes, or none, to a reader.
    package static let damagedCode = "damaged"
    /// The error code of a job whose object a verification found missing while the right bytes were on this device.
    package static let missingCode = "objectMissing"
    /// The error code of a job whose object a verification found missing, or the storage reported as a different one,
    /// while the right bytes were not on this device. It becomes a loss only when a repair, or a person, says so.
    package static let goneCode = "objectGone"
    /// The codes that an upload cannot repair, because the right bytes are not available.
    package static let codesWithoutRightBytes = [lostCode, damagedCode, goneCode]

    // MARK: Conditions

    /// Returns an SQL condition that is true if a file has a job in any state.
    static func contains(_ id: String) -> String { "EXISTS (SELECT 1 FROM lfs_job WHERE fileID = \(id))" }
    /// Returns an SQL condition that is true if a file waits for its upload.
    static func isQueued(_ id: String) -> String {
        "EXISTS (SELECT 1 FROM lfs_job WHERE fileID = \(id) AND state = 'queued')"
    }
    /// Returns an SQL condition that is true if a file's upload has failed or was cancelled, or replaces an incorrect
    /// object.
    static func isInTrouble(_ id: String) -> String {
        "EXISTS (SELECT 1 FROM lfs_job WHERE fileID = \(id) AND (state <> 'queued' OR replacesObject = 1))"
    }
    /// Returns an SQL condition that is true if a file's upload is lent until a time.
    static func isLent(_ id: String, until: String) -> String {
        "EXISTS (SELECT 1 FROM lfs_job WHERE fileID = \(id) AND state = 'queued' AND notBefore = \(until))"
    }
    static func isNotedAsLost(_ id: String) -> String {
        "EXISTS (SELECT 1 FROM lfs_job WHERE fileID = \(id) AND state = 'failed' AND errorCode = '\(lostCode)')"
    }
    /// Returns the SQL that joins the job, if it exists, to the row of a file.
    static func joined(to alias: String) -> String { "LEFT JOIN lfs_job j ON j.fileID = \(alias).id" }
    /// The columns of a joined job that ``RowState`` reads.
    static let stateColumns = """
        j.state AS jobState, j.notBefore, j.errorCode, j.errorMessage, j.replacesObject
        """

    // MARK: The queue

    private static let uploads = """
        SELECT \(FileTable.bytes("j.fileID")), \(FileTable.whole("j.fileID")) AS fileID,
            f.key, f.byteCount, f.sha256, f.crc64, f.contentType, f.name,
            j.attempts, j.checkpoint, j.errorCode, j.sentBytes, j.sentSince, j.replacesObject, j.notBefore,
            \(OriginalTable.columns)
        FROM lfs_job j \(FileTable.joined(to: "j")) \(OriginalTable.joined(to: "j"))
        WHERE j.state = 'queued' AND j.lane = ?
        """

    /// Returns the uploads that are due, the oldest first.
    ///
    /// - Parameters:
    ///   - lane: 1 for large files, 0 for others.
    ///   - now: milliseconds since 1970.
    package static func due(lane: Int, now: Int64, limit: Int, _ db: Database) throws -> [RowResult<JobRow>] {
        let sql = uploads + " AND j.notBefore <= ? ORDER BY j.notBefore, j.fileID LIMIT ?"
        return try RowResult.fetchAll(db.cachedStatement(sql: sql), arguments: [lane, now, limit])
    }

    /// Returns the uploads whose time is further in the future than any delay. A clock that was set back since then
    /// wrote it.
    package static func outOfReach(
        lane: Int, furthest: Int64, limit: Int, _ db: Database
    ) throws -> [RowResult<JobRow>] {
        let sql = uploads + " AND j.notBefore > ? ORDER BY j.notBefore, j.fileID LIMIT ?"
        return try RowResult.fetchAll(db.cachedStatement(sql: sql), arguments: [lane, furthest, limit])
    }

    /// Returns the time when the next upload is due, in milliseconds since 1970, or nil if none waits.
    package static func nextDue(lane: Int, after now: Int64, furthest: Int64, _ db: Database) throws -> Int64? {
        let sql = """
            SELECT min(notBefore) FROM lfs_job WHERE state = 'queued' AND lane = ? AND notBefore > ? AND notBefore <= ?
            """
        return try Int64.fetchOne(db.cachedStatement(sql: sql), arguments: [lane, now, furthest])
    }

    /// The queued jobs. A job without a file never starts and is left out. Only another program can have written it.
    private static let queued = "FROM lfs_job j \(FileTable.joined(to: "j")) WHERE j.state = 'queued'"

    package static func hasQueued(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 \(queued))") ?? false
    }

    package static func queuedCount(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) \(queued)") ?? 0
    }

    package static func count(_ state: State, _ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM lfs_job WHERE state = ?", arguments: [state.rawValue]) ?? 0
    }

    /// Returns the total size of the files that wait for their upload. If invalid rows make the sum too large for an
    /// integer, it does not throw.
    package static func queuedByteCount(_ db: Database) throws -> Int64 {
        let sql = "SELECT CAST(total(byteCount) AS INTEGER) FROM lfs_job WHERE state = 'queued'"
        return try Int64.fetchOne(db, sql: sql) ?? 0
    }

    /// Returns the state of the queue. Reads each of its rows.
    package static func backlog(_ db: Database) throws -> Backlog {
        var backlog = Backlog(failed: try count(.failed, db))
        let sums = "SELECT count(*), CAST(total(byteCount) AS INTEGER) FROM lfs_job WHERE state = 'queued'"
        if let row = try Row.fetchOne(db.cachedStatement(sql: sums)) {
            backlog.queued = row[0]
            backlog.queuedBytes = row[1]
        }
        // Ids start with their time. The plus prevents SQLite from reading and sorting the whole queue to find the
        // first one.
        let oldest = """
            SELECT f.createdAt FROM lfs_job j \(FileTable.joined(to: "j")) WHERE +j.state = 'queued'
            ORDER BY j.fileID LIMIT 1
            """
        let date = try DatabaseValue.fetchOne(db.cachedStatement(sql: oldest)).flatMap(Date.fromDatabaseValue)
        backlog.oldest = date.flatMap { FileRow.dates.contains($0) ? $0 : nil }
        return backlog
    }

    // MARK: Queueing

    /// Returns the columns of a new job for the row of a file. All other columns get their defaults.
    ///
    /// - Parameter now: an SQL expression for milliseconds since 1970.
    static func insertion(_ more: String = "", of alias: String, now: String) -> (columns: String, values: String) {
        (
            "fileID, lane, byteCount, notBefore\(more)",
            "\(alias).id, \(alias).byteCount >= \(LargeFile.byteCount), \(alias).byteCount, \(now)"
        )
    }

    private static func insertion(_ more: String, values: String) -> String {
        let made = insertion(", " + more, of: "f", now: "?2")
        return """
            INSERT INTO lfs_job (\(made.columns)) SELECT \(made.values), \(values)
            FROM \(FileTable.name) f WHERE f.id = ?1
            """
    }

    /// Queues an upload for a row of either status. Does nothing if the row was deleted. For a `remote` row every byte
    /// is uploaded again, whatever the storage reports about the existing object.
    package static func queue(_ id: FileID, now: Int64, _ db: Database) throws {
        try db.execute(
            sql: """
                \(insertion("replacesObject", values: "f.status = 'remote'"))
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

    /// Queues failed and cancelled uploads again, except those without the right bytes. Removes the delay of uploads
    /// that were attempted.
    ///
    /// - Returns: the number of failed or cancelled uploads that were queued.
    package static func queueAllAgain(now: Int64, _ db: Database) throws -> Int {
        try db.execute(
            sql: "UPDATE lfs_job SET notBefore = ?1 WHERE state = 'queued' AND notBefore > ?1 AND attempts > 0",
            arguments: [now])
        let codes = codesWithoutRightBytes.map { "'\($0)'" }.joined(separator: ", ")
        try db.execute(sql: again + " AND coalesce(errorCode, '') NOT IN (\(codes))", arguments: [now])
        return db.changesCount
    }

    /// Queues a failed or cancelled upload again. Returns false if it was neither.
    package static func queueAgain(_ id: FileID, now: Int64, _ db: Database) throws -> Bool {
        try db.cachedStatement(sql: again + " AND fileID = ?").execute(arguments: [now, id])
        return db.changesCount > 0
    }

    /// Delays an upload that was not attempted yet.
    ///
    /// - Parameter notBefore: milliseconds since 1970.
    package static func begin(_ id: FileID, notBefore: Int64, _ db: Database) throws {
        let sql = """
            UPDATE lfs_job SET notBefore = ?2 WHERE fileID = ?1 AND state = 'queued' AND attempts = 0 AND notBefore < ?2
            """
        try db.cachedStatement(sql: sql).execute(arguments: [id, notBefore])
    }

    /// Changes the time before which an upload does not start, without an attempt.
    ///
    /// - Returns: false if the job was queued again in the meantime, or does not wait any more.
    static func postpone(_ job: Attempt, until notBefore: Int64, _ db: Database) throws -> Bool {
        let sql = "UPDATE lfs_job SET notBefore = ? WHERE fileID = ? AND state = 'queued' AND notBefore = ?"
        try db.cachedStatement(sql: sql).execute(arguments: [notBefore, job.id, job.turn])
        return db.changesCount > 0
    }

    package static func cancel(_ id: FileID, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE lfs_job SET state = 'cancelled' WHERE fileID = ? AND state = 'queued'", arguments: [id])
    }

    // MARK: Outcomes

    /// An attempt of an upload, identified by the file and by the turn, which is the `notBefore` of the dequeued job.
    /// Its outcome is saved only while the job still has that value. A job that was queued again in the meantime has
    /// another one.
    package struct Attempt {
        let id: FileID
        let turn: Int64

        package init(_ id: FileID, turn: Int64) { (self.id, self.turn) = (id, turn) }
    }

    /// Delays an upload after a failed attempt.
    package static func putOff(
        _ failed: Attempt, until notBefore: Int64, attempts: Int, code: String, message: String, sentBytes: Int64,
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

    /// Gives up an upload after a failed attempt.
    package static func fail(_ failed: Attempt, code: String, message: String, _ db: Database) throws {
        let sql = """
            UPDATE lfs_job SET state = 'failed', attempts = attempts + 1, errorCode = ?, errorMessage = ?
            WHERE fileID = ? AND state = 'queued' AND notBefore = ?
            """
        try db.cachedStatement(sql: sql).execute(arguments: [code, message, failed.id, failed.turn])
    }

    /// Gives up the upload of a row that another program has written in an unusable form.
    ///
    /// - Parameter bytes: the bytes of its id.
    package static func fail(bytes: DatabaseValue, code: String, message: String, _ db: Database) throws {
        let sql = """
            UPDATE lfs_job SET state = 'failed', errorCode = ?, errorMessage = ?
            WHERE \(FileTable.bytes("fileID")) = ? AND state = 'queued'
            """
        try db.execute(sql: sql, arguments: [code, message, bytes])
    }

    /// Saves the checkpoint of a running upload. If the row was deleted in the meantime, the tombstone gets it, so that
    /// the deletion can abandon the upload.
    package static func save(checkpoint: Data, of id: FileID, _ db: Database) throws {
        try db.execute(sql: "UPDATE lfs_job SET checkpoint = ? WHERE fileID = ?", arguments: [checkpoint, id])
        if db.changesCount == 0 { try TombstoneTable.save(checkpoint: checkpoint, of: id, db) }
    }

    package static func remove(_ ids: some Collection<FileID>, _ db: Database) throws {
        for group in Array(ids).statementGroups() {
            let sql = "DELETE FROM lfs_job WHERE fileID IN (\(databaseQuestionMarks(count: group.count)))"
            try db.cachedStatement(sql: sql).execute(arguments: StatementArguments(group))
        }
    }

    /// Removes the job of an upload that has ended, for a file that was already on the storage. If a reader has
    /// received wrong bytes from the object since the upload began, the file is queued again, so that the next upload
    /// replaces the object. A job that does not wait any more stays as the record of the damage.
    ///
    /// - Parameter replacedObject: true if the upload has replaced the object, whatever the storage reported about it.
    /// - Returns: true if the job was removed, so that the upload has proven the object.
    package static func finish(_ id: FileID, replacedObject: Bool, now: Int64, _ db: Database) throws -> Bool {
        let sql = "SELECT state = 'queued' FROM lfs_job WHERE fileID = ? AND replacesObject > ?"
        let isQueued = try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [id, replacedObject])
        if isQueued == false { return false }
        try remove([id], db)
        guard isQueued == true else { return true }
        // A new job, because only an insert makes the pool read the queue again.
        try queue(id, now: now, db)
        return false
    }

    /// Removes the job of a skipped upload if its file has no row. The row may have been deleted and inserted again, or
    /// the upload queued again. Then there is a new job, which stays.
    package static func removeWithoutFile(_ id: FileID, _ db: Database) throws {
        let sql = "DELETE FROM lfs_job WHERE fileID = ?1 AND NOT \(FileTable.contains("?1"))"
        try db.cachedStatement(sql: sql).execute(arguments: [id])
    }

    /// Returns true if there is a job without a file.
    package static func hasOrphan(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM lfs_job WHERE \(isOrphan))") ?? false
    }

    package static func removeOrphans(_ db: Database) throws {
        try db.execute(sql: "DELETE FROM lfs_job WHERE \(isOrphan)")
    }

    private static let isOrphan = "NOT \(FileTable.contains("lfs_job.fileID"))"

    static func removeAll(_ db: Database) throws { try db.execute(sql: "DELETE FROM lfs_job") }

    // MARK: Failures

    /// Returns the uploads that were given up, in the order in which their files were created.
    package static func failures(limit: Int, _ db: Database) throws -> [RowResult<JobFailure>] {
        try RowResult.fetchAll(
            db,
            sql: """
                SELECT \(FileTable.whole("fileID")) AS fileID, errorCode, errorMessage FROM lfs_job
                WHERE state = 'failed' ORDER BY lfs_job.fileID LIMIT ?
                """,
            arguments: [limit])
    }

    /// Returns the files that have failed with one of these codes.
    package static func failed(with codes: [String], _ db: Database) throws -> Set<FileID> {
        let marks = databaseQuestionMarks(count: codes.count)
        return try Set(
            DatabaseValue.fetchAll(
                db, sql: "SELECT fileID FROM lfs_job WHERE state = 'failed' AND errorCode IN (\(marks))",
                arguments: StatementArguments(codes)
            ).compactMap(FileID.fromDatabaseValue))
    }

    // MARK: Losses

    /// Records that a file's right bytes do not exist anywhere.
    package static func noteLoss(of id: FileID, _ reason: String, now: Int64, _ db: Database) throws {
        try db.execute(
            sql: """
                \(insertion("state, errorCode, errorMessage", values: "'failed', ?3, ?4"))
                ON CONFLICT (fileID) DO UPDATE SET state = 'failed', errorCode = ?3, errorMessage = ?4
                """,
            arguments: [id, now, lostCode, reason])
    }

    /// Records that a reader received wrong bytes, or none, from a file's object. A recorded loss stays.
    package static func noteDamage(of id: FileID, _ reason: String, now: Int64, _ db: Database) throws {
        let columns = "state, errorCode, errorMessage, replacesObject"
        try db.execute(
            sql: """
                \(insertion(columns, values: "'failed', ?3, ?4, 1")) AND f.status = 'remote'
                ON CONFLICT (fileID) DO UPDATE SET replacesObject = 1,
                    errorCode = CASE WHEN state = 'failed' AND errorCode IS NOT ?5 THEN ?3 ELSE errorCode END,
                    errorMessage = CASE state WHEN 'failed' THEN ?4 ELSE errorMessage END
                """,
            arguments: [id, now, damagedCode, reason, lostCode])
    }

    /// Records that a file's object is missing on the storage. Right bytes on this device then stay until it exists
    /// again. An existing job is not changed.
    ///
    /// - Parameter hasBytes: true if the right bytes are on this device, or may be.
    package static func noteMissing(
        of id: FileID, _ reason: String, hasBytes: Bool = true, now: Int64, _ db: Database
    ) throws {
        try db.execute(
            sql: """
                \(insertion("state, errorCode, errorMessage", values: "'failed', ?3, ?4")) AND f.status = 'remote'
                ON CONFLICT (fileID) DO NOTHING
                """,
            arguments: [id, now, hasBytes ? missingCode : goneCode, reason])
    }

    /// Removes the record of a failure that no longer applies, for a file on the storage. A damaged object stays
    /// recorded, because a reader may have found it since the failure was compared with the storage.
    package static func removeNote(of id: FileID, _ db: Database) throws {
        let sql = """
            DELETE FROM lfs_job
            WHERE fileID = ?1 AND state = 'failed' AND replacesObject = 0 AND \(FileTable.isRemote("?1"))
            """
        try db.execute(sql: sql, arguments: [id])
    }

    /// The SQL that selects the record of a file on the storage as lost, missing or damaged.
    private static let noteOfLoss = """
        FROM lfs_job WHERE fileID = ?1 AND state = 'failed'
            AND (errorCode IN ('\(lostCode)', '\(missingCode)', '\(goneCode)') OR replacesObject = 1)
            AND \(FileTable.isRemote("?1"))
        """

    /// Returns true if the rows do not confirm that the file's object is right.
    package static func isInDoubt(_ id: FileID, _ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 \(noteOfLoss)) OR \(FileTable.isUnproven("?1"))"
        return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [id]) ?? false
    }

    /// Records that the right bytes were read from a file's object. It is proven then, and no longer recorded as lost,
    /// missing or damaged.
    ///
    /// For a row that is not `remote`, a recorded loss stays. Its object must first be created, as a repair does.
    package static func noteRightBytes(of id: FileID, _ db: Database) throws {
        try db.execute(sql: "DELETE \(noteOfLoss)", arguments: [id])
        try FileTable.noteProof(id, db)
    }
}

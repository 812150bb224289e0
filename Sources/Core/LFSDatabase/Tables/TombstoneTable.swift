package import Foundation
package import GRDB
package import LFSSystem

/// `lfs_tombstone`: deleted files whose bytes must still be removed.
package enum TombstoneTable {
    package static let name = "lfs_tombstone"

    // MARK: Due deletions

    /// Returns the deletions that are due, and those whose time is further in the future than any delay. Held ones are
    /// left out.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - furthest: the latest time to which a deletion can be delayed, in milliseconds since 1970.
    ///   - withoutStorage: leaves out deletions that have started and wait for the storage.
    package static func due(
        now: Int64, furthest: Int64, withoutStorage: Bool, limit: Int, _ db: Database
    ) throws -> [RowResult<Tombstone>] {
        let state = withoutStorage ? "AND (state = 'pending' OR removesObject = 0)" : ""
        let sql = """
            SELECT \(FileTable.bytes("fileID")), \(FileTable.whole("fileID")) AS fileID, lfs_tombstone.*
            FROM lfs_tombstone WHERE isHeld = 0 AND (notBefore <= ? OR notBefore > ?) \(state)
            ORDER BY notBefore, lfs_tombstone.fileID LIMIT ?
            """
        return try RowResult.fetchAll(db, sql: sql, arguments: [now, furthest, limit])
    }

    /// Returns the time when the next deletion is due, in milliseconds since 1970. Nil if none is waiting for a time.
    package static func nextDue(after now: Int64, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(
            db, sql: "SELECT min(notBefore) FROM lfs_tombstone WHERE isHeld = 0 AND notBefore > ?", arguments: [now])
    }

    /// Returns the number of deletions that are not held.
    package static func count(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM lfs_tombstone WHERE isHeld = 0") ?? 0
    }

    /// Returns true if there is a deletion that was not attempted yet and is not held.
    package static func hasUntried(_ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM lfs_tombstone WHERE isHeld = 0 AND attempts = 0)"
        return try Bool.fetchOne(db, sql: sql) ?? false
    }

    /// Returns true if the deletion of a file has not begun to remove bytes. It may be held, and inserting the file
    /// again cancels it.
    package static func mayBeUndone(_ id: FileID, _ db: Database) throws -> Bool {
        let sql = """
            SELECT EXISTS (SELECT 1 FROM lfs_tombstone WHERE fileID = ? AND (state = 'pending' OR isHeld = 1))
            """
        return try Bool.fetchOne(db, sql: sql, arguments: [id]) ?? false
    }

    /// Returns those of the ids that have a tombstone.
    package static func existing(_ ids: some Collection<FileID>, _ db: Database) throws -> Set<FileID> {
        try FileID.fetchSet(
            db, sql: "SELECT fileID FROM lfs_tombstone WHERE fileID IN (\(databaseQuestionMarks(count: ids.count)))",
            arguments: StatementArguments(ids))
    }

    /// Returns a page of the deletions that another attempt is not expected to finish. They have failed ten times, wait
    /// longer than any backoff, or were written by another program in an unreadable form.
    ///
    /// - Parameter late: a time further away than any backoff, in milliseconds since 1970.
    package static func stuck(
        after id: DatabaseValue, late: Int64, limit: Int, _ db: Database
    ) throws -> RowPage<RowResult<StuckDeletion>> {
        let sql = """
            SELECT fileID, key, errorMessage, notBefore FROM lfs_tombstone
            WHERE fileID > ? AND (attempts >= 10 OR (attempts > 0 AND notBefore > ?) OR typeof(key) <> 'text'
                OR typeof(attempts) <> 'integer' OR typeof(fileID) <> 'text')
            ORDER BY fileID LIMIT ?
            """
        return RowPage(try RowResult.fetchAll(db, sql: sql, arguments: [id, late, limit]))
    }

    // MARK: Writing

    /// Records that the removal of bytes starts. From then on their ids cannot be inserted again.
    ///
    /// - Returns: the tombstones that still exist and are not held.
    package static func beginRemoval(of ids: [String], _ db: Database) throws -> [Tombstone] {
        let marks = databaseQuestionMarks(count: ids.count)
        let arguments = StatementArguments(ids)
        try db.execute(
            sql: "UPDATE lfs_tombstone SET state = 'removing' WHERE fileID IN (\(marks)) AND isHeld = 0",
            arguments: arguments)
        return try Tombstone.fetchAll(
            db, sql: "SELECT * FROM lfs_tombstone WHERE fileID IN (\(marks)) AND isHeld = 0", arguments: arguments)
    }

    /// Deletes the tombstone after its bytes were removed, unless an upload that ended in the meantime has requested
    /// another removal.
    package static func removeDone(_ id: String, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM lfs_tombstone WHERE fileID = ? AND state = 'removing'", arguments: [id])
    }

    package static func putOff(_ id: String, until notBefore: Int64, reason: String, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE lfs_tombstone SET attempts = attempts + 1, notBefore = ?, errorMessage = ? WHERE fileID = ?",
            arguments: [notBefore, reason, id])
    }

    /// Delays a deletion whose row cannot be read. It counts as one attempt, whatever its row says.
    ///
    /// - Parameter bytes: the bytes of its id.
    package static func putOff(
        bytes: DatabaseValue, until notBefore: Int64, reason: String, _ db: Database
    ) throws {
        let sql = """
            UPDATE lfs_tombstone SET attempts = 1, notBefore = ?, errorMessage = ?
            WHERE \(FileTable.bytes("fileID")) = ?
            """
        try db.execute(sql: sql, arguments: [notBefore, reason, bytes])
    }

    /// Requests the deletion of an object again, because an upload of the deleted file has just recreated it. Does
    /// nothing for a file without a tombstone, which was not deleted.
    package static func makeDueAgain(_ id: FileID, _ db: Database) throws {
        let sql = "UPDATE lfs_tombstone SET state = 'pending', notBefore = 0 WHERE fileID = ?"
        try db.cachedStatement(sql: sql).execute(arguments: [id])
    }

    static func save(checkpoint: Data, of id: FileID, _ db: Database) throws {
        try db.execute(sql: "UPDATE lfs_tombstone SET checkpoint = ? WHERE fileID = ?", arguments: [checkpoint, id])
    }

    private static let asNew = "attempts = 0, notBefore = 0, errorMessage = NULL"

    /// Makes a deletion due now, and forgets its failed attempts.
    package static func retry(_ id: FileID, _ db: Database) throws {
        try db.execute(sql: "UPDATE lfs_tombstone SET \(asNew) WHERE fileID = ?", arguments: [id])
    }

    /// Does the same as ``retry(_:_:)`` for all failed deletions. Returns their number.
    package static func retryAll(_ db: Database) throws -> Int {
        try db.execute(sql: "UPDATE lfs_tombstone SET \(asNew) WHERE attempts > 0")
        return db.changesCount
    }

    /// Adds a tombstone for a file, unless the file has one already or has a row. Returns true if it was added.
    package static func add(_ id: FileID, key: String, _ db: Database) throws -> Bool {
        let sql = """
            INSERT OR IGNORE INTO lfs_tombstone (fileID, key) SELECT ?1, ?2 WHERE NOT \(FileTable.contains("?1"))
            """
        try db.cachedStatement(sql: sql).execute(arguments: [id, key])
        return db.changesCount > 0
    }

    // MARK: Held deletions

    /// Returns the SQL that selects the columns of held deletions which an eviction needs. The local copies of such
    /// files may be evicted like all others.
    static func heldCopies(count: Int) -> String {
        """
        SELECT fileID AS id, status, proof, contentType, createdAt, NULL AS lastUsed, isPinned,
            jobState IS NOT NULL AS hasJob
        FROM lfs_tombstone WHERE isHeld = 1 AND fileID IN (\(databaseQuestionMarks(count: count)))
        """
    }

    package static func heldCount(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM lfs_tombstone WHERE isHeld = 1") ?? 0
    }

    /// Returns those of the ids whose deletion is held.
    package static func held(_ ids: some Collection<FileID>, _ db: Database) throws -> Set<FileID> {
        let marks = databaseQuestionMarks(count: ids.count)
        return try FileID.fetchSet(
            db, sql: "SELECT fileID FROM lfs_tombstone WHERE fileID IN (\(marks)) AND isHeld = 1",
            arguments: StatementArguments(ids))
    }

    /// Returns true if the deletion of a file with this key is held.
    package static func isHeld(key: String, _ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM lfs_tombstone WHERE isHeld = 1 AND key = ?)"
        return try Bool.fetchOne(db, sql: sql, arguments: [key]) ?? false
    }

    /// Returns a page of held deletions in the order of their ids.
    ///
    /// - Parameter id: the last id of the previous page, or nil for the first page.
    package static func held(after id: FileID?, limit: Int, _ db: Database) throws -> [FileID] {
        let sql = "SELECT fileID FROM lfs_tombstone WHERE isHeld = 1 AND fileID > ? ORDER BY fileID LIMIT ?"
        return try FileID.fetchAll(db.cachedStatement(sql: sql), arguments: [id?.text ?? "", limit])
    }

    /// Releases a held deletion after the server has accepted it.
    ///
    /// - Parameter removesObject: true if this device removes the object, false if the server does. If the file was
    ///   never on the storage, this device removes the leftovers of its own upload in either case.
    /// - Returns: true if the deletion was held. It is not held any more if the file was inserted again.
    @discardableResult
    package static func accept(_ id: FileID, removesObject: Bool, _ db: Database) throws -> Bool {
        let sql = """
            UPDATE lfs_tombstone SET
                removesObject = ?2 OR status = 'local' AND \(StateTable.isOnlyHere("fileID", key: "key")), \(released)
            WHERE fileID = ?1 AND isHeld = 1
            """
        try db.cachedStatement(sql: sql).execute(arguments: [id, removesObject])
        return db.changesCount > 0
    }

    /// Releases a held deletion of a file that the server does not have. The file may belong to another account that no
    /// longer shares it. Therefore this device removes the object only if the key is its own.
    ///
    /// - Returns: true if the deletion was held. It is not held any more if the file was inserted again.
    @discardableResult
    package static func acceptMissing(_ id: FileID, _ db: Database) throws -> Bool {
        let sql = """
            UPDATE lfs_tombstone SET removesObject = \(StateTable.isOurs("key")), \(released)
            WHERE fileID = ?1 AND isHeld = 1
            """
        try db.cachedStatement(sql: sql).execute(arguments: [id])
        return db.changesCount > 0
    }

    /// Undoes a held deletion after the server has rejected it. The row is restored with its job and its pin. It gets a
    /// new `updateID`, through which readers find it. Changes that foreign keys made to rows of the host are not
    /// undone.
    ///
    /// - Returns: true if the deletion was held. It is not held any more if the file was inserted again.
    @discardableResult
    package static func reject(_ id: FileID, _ db: Database) throws -> Bool {
        let release = "UPDATE lfs_tombstone SET isHeld = 0 WHERE fileID = ? AND isHeld = 1"
        var isBack = false
        // If the row cannot be inserted, the tombstone must not stay released, because the deletion would be carried
        // out.
        try db.inSavepoint {
            try StateTable.applying(db) {
                try db.cachedStatement(sql: release).execute(arguments: [id])
                guard db.changesCount > 0 else { return }
                // A trigger of the insert deletes the tombstone.
                try FileTable.insertKept(id, in: name, db)
                isBack = true
            }
            return .commit
        }
        return isBack
    }

    private static let released = """
        isHeld = 0, status = NULL, url = NULL, proof = NULL, name = NULL, contentType = NULL, byteCount = NULL,
        sha256 = NULL, crc64 = NULL, createdAt = NULL
        """

    // MARK: Resetting

    /// Records which tombstones a reset keeps. These are the requested deletions, and those of files that this database
    /// created and never uploaded: an unfinished upload may have left parts on the storage. A deletion that no server
    /// has accepted is dropped together with the rows.
    ///
    /// A file created before ``StateTable/knowsFrom(_:)`` gets no tombstone, because another copy of the database may
    /// have uploaded it.
    static func noteKept(_ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO temp.lfs_kept
                SELECT fileID FROM lfs_tombstone WHERE isHeld = 0 AND removesObject = 1
                UNION SELECT fileID FROM lfs_tombstone
                WHERE isHeld = 1 AND status = 'local' AND \(StateTable.isOnlyHere("fileID", key: "key"))
                UNION SELECT id FROM \(FileTable.name)
                WHERE status = 'local' AND \(StateTable.isOnlyHere("id", key: "key"))
                """)
    }

    static func makeKept(_ db: Database) throws {
        try db.execute(sql: "CREATE TEMP TABLE lfs_kept (fileID TEXT PRIMARY KEY NOT NULL)")
    }

    /// Deletes all other tombstones, and marks the kept ones as being removed. So no server can send their rows back
    /// before the removal is finished.
    static func removeAllButKept(_ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM lfs_tombstone WHERE fileID NOT IN (SELECT fileID FROM temp.lfs_kept);
                DROP TABLE temp.lfs_kept;
                UPDATE lfs_tombstone SET state = 'removing', \(released);
                """)
    }
}

/// A row of `lfs_tombstone`.
package struct Tombstone: FetchableRecord, Sendable {
    /// The text in the row. Another program may have written text that is not an id. Then there are no local bytes to
    /// remove, but the object under the key is removed.
    package let fileID: String
    /// The file's id, or nil if the text is not an id.
    package let id: FileID?
    package let key: String
    /// True if the object is removed too.
    package let removesObject: Bool
    package let attempts: Int
    package let checkpoint: Data?

    package init(row: Row) throws {
        let checked = CheckedRow(row, of: TombstoneTable.name, name: "fileID")
        fileID = try checked.value("fileID")
        id = FileID(text: fileID)
        key = try checked.value("key")
        // An invalid value from another program must not cause the removal of an object that others may need.
        removesObject = Bool.fromDatabaseValue(row["removesObject"]) == true
        attempts = min(max(try checked.value("attempts"), 0), Self.mostAttempts)
        checkpoint = try checked.value("checkpoint")
    }

    /// The limit of the count. A higher one comes from another program and would not lengthen the delay.
    private static let mostAttempts = 1_000_000
}

/// A deletion that could not be finished.
package struct StuckDeletion: FetchableRecord, Sendable {
    package let fileID: FileID
    package let key: String
    package let reason: String?
    /// The earliest time of the next attempt, in milliseconds since 1970.
    package let notBefore: Int64

    package init(row: Row) throws {
        let checked = CheckedRow(row, of: TombstoneTable.name, name: "fileID")
        fileID = try checked.value("fileID")
        key = try checked.value("key")
        reason = try checked.value("errorMessage")
        notBefore = Int64.fromDatabaseValue(row["notBefore"]) ?? 0
    }
}

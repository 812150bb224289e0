package import Foundation
package import GRDB
package import LFSSystem

/// `lfs_tombstone`: files that were deleted and whose bytes still have to go.
package enum TombstoneTable {
    package static let name = "lfs_tombstone"

    // MARK: What is due

    /// Those whose time has come, or is further away than any wait can be. None of them is held.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - furthest: the furthest that a deletion can be put off.
    ///   - withoutStorage: leaves out those that have begun and wait for the storage.
    package static func due(
        now: Int64, furthest: Int64, withoutStorage: Bool, limit: Int, _ db: Database
    ) throws -> [RowResult<Tombstone>] {
        let state = withoutStorage ? "AND (state = 'pending' OR removesObject = 0)" : ""
        let sql = """
            SELECT * FROM lfs_tombstone WHERE isHeld = 0 AND (notBefore <= ? OR notBefore > ?) \(state)
            ORDER BY notBefore, fileID LIMIT ?
            """
        return try RowResult.fetchAll(db, sql: sql, arguments: [now, furthest, limit])
    }

    /// When the next one comes due, in milliseconds since 1970; nil when none waits for a time.
    package static func nextDue(after now: Int64, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(
            db, sql: "SELECT min(notBefore) FROM lfs_tombstone WHERE isHeld = 0 AND notBefore > ?", arguments: [now])
    }

    /// How many there are, without those that are held.
    package static func count(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM lfs_tombstone WHERE isHeld = 0") ?? 0
    }

    /// Whether there is one that was not tried yet, and that is not held.
    package static func hasUntried(_ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM lfs_tombstone WHERE isHeld = 0 AND attempts = 0)"
        return try Bool.fetchOne(db, sql: sql) ?? false
    }

    /// Those of the ids that have one.
    package static func existing(_ ids: some Collection<FileID>, _ db: Database) throws -> Set<FileID> {
        try FileID.fetchSet(
            db, sql: "SELECT fileID FROM lfs_tombstone WHERE fileID IN (\(databaseQuestionMarks(count: ids.count)))",
            arguments: StatementArguments(ids))
    }

    /// Deletions that another try is not expected to help: those that failed ten times, those that wait longer than any
    /// backoff, and those that another program has written so that they cannot be read.
    ///
    /// - Parameter late: a time further away than a backoff, in milliseconds since 1970.
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

    /// Notes that bytes begin to go: from then on their ids cannot be inserted again.
    ///
    /// - Returns: the tombstones that are still there, and not held.
    package static func beginRemoval(of ids: [String], _ db: Database) throws -> [Tombstone] {
        let marks = databaseQuestionMarks(count: ids.count)
        let arguments = StatementArguments(ids)
        try db.execute(
            sql: "UPDATE lfs_tombstone SET state = 'removing' WHERE fileID IN (\(marks)) AND isHeld = 0",
            arguments: arguments)
        return try Tombstone.fetchAll(
            db, sql: "SELECT * FROM lfs_tombstone WHERE fileID IN (\(marks)) AND isHeld = 0", arguments: arguments)
    }

    /// Removes the tombstone of bytes that are gone, unless an upload that ended meanwhile has called for another
    /// removal.
    package static func removeDone(_ id: String, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM lfs_tombstone WHERE fileID = ? AND state = 'removing'", arguments: [id])
    }

    package static func putOff(_ id: String, until notBefore: Int64, _ reason: String, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE lfs_tombstone SET attempts = attempts + 1, notBefore = ?, errorMessage = ? WHERE fileID = ?",
            arguments: [notBefore, reason, id])
    }

    /// Puts off one that cannot be read.
    ///
    /// - Parameter place: its first column, as it is stored.
    package static func putOffUnreadable(
        _ place: DatabaseValue, until notBefore: Int64, _ reason: String, _ db: Database
    ) throws {
        try db.execute(
            sql: "UPDATE lfs_tombstone SET notBefore = ?, errorMessage = ? WHERE fileID = ?",
            arguments: [notBefore, reason, place])
    }

    /// Asks for the deletion of an object once more, because an upload of the deleted file has ended just now and has
    /// made it again. Does nothing for a file without a tombstone, which nobody has deleted.
    package static func removeAgain(_ id: FileID, _ db: Database) throws {
        let sql = "UPDATE lfs_tombstone SET state = 'pending', notBefore = 0 WHERE fileID = ?"
        try db.cachedStatement(sql: sql).execute(arguments: [id])
    }

    /// Lets a deletion be tried now, with its count of tries at zero.
    package static func retry(_ id: FileID, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE lfs_tombstone SET attempts = 0, notBefore = 0 WHERE fileID = ?", arguments: [id])
    }

    /// As ``retry(_:_:)``, for all that have failed. Returns how many.
    package static func retryAll(_ db: Database) throws -> Int {
        try db.execute(
            sql: "UPDATE lfs_tombstone SET attempts = 0, notBefore = 0, errorMessage = NULL WHERE attempts > 0")
        return db.changesCount
    }

    /// Gives a file a tombstone unless it has one, or a row. Returns whether it did.
    package static func add(_ id: FileID, key: String, _ db: Database) throws -> Bool {
        let sql = """
            INSERT OR IGNORE INTO lfs_tombstone (fileID, key) SELECT ?1, ?2 WHERE NOT \(FileTable.contains("?1"))
            """
        try db.cachedStatement(sql: sql).execute(arguments: [id, key])
        return db.changesCount > 0
    }

    // MARK: Held deletions

    /// The rows of held deletions, as far as an eviction asks for them; the local copies of such files may go as those
    /// of other files do.
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

    /// Those of the ids whose deletion is held.
    package static func held(_ ids: some Collection<FileID>, _ db: Database) throws -> Set<FileID> {
        let marks = databaseQuestionMarks(count: ids.count)
        return try FileID.fetchSet(
            db, sql: "SELECT fileID FROM lfs_tombstone WHERE fileID IN (\(marks)) AND isHeld = 1",
            arguments: StatementArguments(ids))
    }

    /// Held deletions in the order of their ids, a page at a time.
    ///
    /// - Parameter id: the last of the page before; nil for the first page.
    package static func held(after id: FileID?, limit: Int, _ db: Database) throws -> [FileID] {
        let sql = "SELECT fileID FROM lfs_tombstone WHERE isHeld = 1 AND fileID > ? ORDER BY fileID LIMIT ?"
        return try FileID.fetchAll(db.cachedStatement(sql: sql), arguments: [id?.text ?? "", limit])
    }

    /// Lets a deletion that was held be carried out, since the server has accepted it.
    ///
    /// - Parameter removesObject: whether this device removes the object, and not the server. What an upload of this
    ///   device has left of a file that was never on the storage goes all the same.
    /// - Returns: whether it was held; it is not when the file was inserted again.
    @discardableResult
    package static func accept(_ id: FileID, removesObject: Bool, _ db: Database) throws -> Bool {
        let sql = """
            UPDATE lfs_tombstone SET
                removesObject = ?2 OR status = 'local' AND \(StateTable.isOnlyHere("fileID", "key")), \(released)
            WHERE fileID = ?1 AND isHeld = 1
            """
        try db.cachedStatement(sql: sql).execute(arguments: [id, removesObject])
        return db.changesCount > 0
    }

    /// Takes a deletion back that was held, since the server has rejected it: the row is there again as it was, with
    /// its job and its pin, and a new `updateID`, by which readers find it. What foreign keys did to rows of the host
    /// when it was deleted is not undone.
    ///
    /// - Returns: whether it was held; it is not when the file was inserted again.
    @discardableResult
    package static func reject(_ id: FileID, _ db: Database) throws -> Bool {
        let release = "UPDATE lfs_tombstone SET isHeld = 0 WHERE fileID = ? AND isHeld = 1"
        var isBack = false
        // What is released and not inserted must not stay: it would be carried out.
        try db.inSavepoint {
            try StateTable.applying(db) {
                try db.cachedStatement(sql: release).execute(arguments: [id])
                guard db.changesCount > 0 else { return }
                // The insert takes the tombstone away.
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

    /// Notes which tombstones a reset keeps. They are those of deletions that were asked for, and those of files that
    /// this database has made and never uploaded: an unfinished upload may have left parts on the storage. A deletion
    /// that no server has accepted is forgotten like the rows.
    ///
    /// A file that was made before ``StateTable/knowsFrom(_:)`` gets none: another copy of the database may have
    /// uploaded it.
    static func noteKept(_ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO temp.lfs_kept
                SELECT fileID FROM lfs_tombstone WHERE isHeld = 0 AND removesObject = 1
                UNION SELECT fileID FROM lfs_tombstone
                WHERE isHeld = 1 AND status = 'local' AND \(StateTable.isOnlyHere("fileID", "key"))
                UNION SELECT id FROM \(FileTable.name)
                WHERE status = 'local' AND \(StateTable.isOnlyHere("id", "key"))
                """)
    }

    static func makeKept(_ db: Database) throws {
        try db.execute(sql: "CREATE TEMP TABLE lfs_kept (fileID TEXT PRIMARY KEY NOT NULL)")
    }

    /// Leaves the tombstones that are kept, and notes that their bytes go: no server gives their rows back before that
    /// has come to its end.
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
    /// The text in the row. When another program has written one that is no id, there are no local bytes to remove, and
    /// the object under the key is removed all the same.
    package let fileID: String
    /// The file's id; nil for a text that is none.
    package let id: FileID?
    package let key: String
    /// Whether the object goes as well.
    package let removesObject: Bool
    package let attempts: Int
    package let checkpoint: Data?

    package init(row: Row) throws {
        let checked = CheckedRow(row, of: TombstoneTable.name, name: "fileID")
        fileID = try checked.value("fileID")
        id = FileID(text: fileID)
        key = try checked.value("key")
        // What another program has written there is no reason to remove what others may have.
        removesObject = Bool.fromDatabaseValue(row["removesObject"]) == true
        attempts = min(max(try checked.value("attempts"), 0), Self.mostAttempts)
        checkpoint = try checked.value("checkpoint")
    }

    /// A higher count, which only another program can have written, would make no delay longer.
    private static let mostAttempts = 1_000_000
}

/// A tombstone that cannot be carried out, by what was tried.
package struct StuckDeletion: FetchableRecord, Sendable {
    package let fileID: FileID
    package let key: String
    package let reason: String?
    /// When it may be tried, in milliseconds since 1970.
    package let notBefore: Int64

    package init(row: Row) throws {
        let checked = CheckedRow(row, of: TombstoneTable.name, name: "fileID")
        fileID = try checked.value("fileID")
        key = try checked.value("key")
        reason = try checked.value("errorMessage")
        notBefore = Int64.fromDatabaseValue(row["notBefore"]) ?? 0
    }
}

import Foundation
import GRDB
import LFS

/// The table `uploader_replaced` with files that a newer file of the same document has replaced. Those that are kept
/// for a time are the document's old versions. A replaced file stays at least until the new one is on the storage. This
/// way the storage always has one of them, even if a run is killed.
enum VersionTable {
    static let schema = """
        CREATE TABLE uploader_replaced_new (
            -- Increases with each replacement.
            id INTEGER PRIMARY KEY,
            -- Not a foreign key, because another device may remove the document.
            documentId TEXT NOT NULL,
            -- Several documents may have had the same file, and one may have had it twice.
            fileId TEXT NOT NULL REFERENCES lfs_file(id) ON DELETE CASCADE,
            -- The values of the document until the replacement.
            addedAt DATETIME,
            stamp TEXT,
            -- Seconds since 1970. NULL for a file that is removed once the new one is on the storage.
            replacedAt REAL,
            -- The age of the clock at its replacement, in seconds, for kept versions. See VersionClock.
            replacedAge REAL,
            -- 1 until its local copy is removed, for kept versions.
            hasCopy INTEGER NOT NULL DEFAULT 0
        );
        INSERT INTO uploader_replaced_new (documentId, fileId) SELECT documentId, fileId FROM uploader_replaced;
        DROP TABLE uploader_replaced;
        ALTER TABLE uploader_replaced_new RENAME TO uploader_replaced;
        CREATE INDEX uploader_replaced_documentId ON uploader_replaced(documentId, replacedAt);
        CREATE INDEX uploader_replaced_fileId ON uploader_replaced(fileId);
        CREATE INDEX uploader_replaced_replacedAt ON uploader_replaced(replacedAt);
        CREATE INDEX uploader_replaced_replacedAge ON uploader_replaced(replacedAge) WHERE replacedAt IS NOT NULL;
        CREATE INDEX uploader_replaced_hasCopy ON uploader_replaced(id) WHERE hasCopy = 1;
        """

    /// The maximum number of rows per transaction, so that other writers do not wait long.
    static let batch = 500

    /// Returns true if the database can contain versions. A database that is only read may belong to an older uploader
    /// or to another app.
    static func isThere(_ db: Database) throws -> Bool {
        try DocumentSchema.has("replacedAt", in: "uploader_replaced", db)
    }

    /// Returns the time in a row, or nil if it is invalid or beyond the year 9999.
    static func time(_ value: DatabaseValue) -> Date? { seconds(value).flatMap(time) }

    /// Returns the number of seconds in a row, or nil if it is not a number.
    static func seconds(_ value: DatabaseValue) -> Double? {
        switch value.storage {
        case .int64(let seconds): Double(seconds)
        case .double(let seconds): seconds
        default: nil
        }
    }

    private static func time(_ seconds: Double) -> Date? {
        (0..<253_402_300_800).contains(seconds) ? Date(timeIntervalSince1970: seconds) : nil
    }

    // MARK: Replacing

    /// Records the replaced file of a document. The caller assigns the new file in the same transaction.
    ///
    /// - Parameter isVersion: false if the old file has the same bytes as the new one, or has lost its bytes.
    static func replace(_ old: AttachedDocument, isVersion: Bool, at time: Date, _ db: Database) throws {
        var memory = try VersionMemory.fetch(db)
        let isKept = isVersion && memory.holding != .none
        if !isKept, old.file.status != .remote {
            // It was never on the storage, and the bytes of the new version are durable locally.
            return _ = try removeFile(old.file.id.databaseValue, db)
        }
        if isKept {
            memory.clock.look(at: time, keeping: memory.holding.seconds)
            try VersionMemory.save(memory.clock, db)
        }
        try db.execute(
            sql: """
                INSERT INTO uploader_replaced (documentId, fileId, addedAt, stamp, replacedAt, replacedAge, hasCopy)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                old.document.id, old.file.id, old.document.addedAt, old.document.stamp,
                isKept ? time.timeIntervalSince1970 : nil, isKept ? memory.clock.age : nil, isKept,
            ])
    }

    // MARK: Removing

    /// The result of a removal.
    struct Removed: Equatable, Sendable {
        /// The number of versions, without files that were not kept.
        var versions = 0
        /// The size of the removed files. Files that are still in use stay.
        var bytes: Int64 = 0
        /// The number of processed rows, including files that were not kept.
        var rows = 0

        static func + (left: Removed, right: Removed) -> Removed {
            Removed(
                versions: left.versions + right.versions, bytes: left.bytes.addingSaturated(right.bytes),
                rows: left.rows + right.rows)
        }
    }

    /// A selection of rows to remove.
    enum Settled: Sendable {
        /// Files that are not kept, and whose new version is on the storage.
        case replaced
        /// Versions of removed documents.
        case orphaned
        /// Versions that were replaced at this age or before, and whose new version is on the storage.
        case expired(TimeInterval)
        /// All versions whose new version is on the storage.
        case all

        /// The SQL source of the rows. `r` is the row, `d` its document, and `f` the document's current file.
        var source: (sql: String, arguments: StatementArguments) {
            let (condition, arguments) = condition
            let sql = """
                FROM uploader_replaced r
                LEFT JOIN uploader_document d ON d.id = r.documentId LEFT JOIN lfs_file f ON f.id = d.fileId
                WHERE \(condition)
                """
            return (sql, arguments)
        }

        private var condition: (sql: String, arguments: StatementArguments) {
            // A job means that the new file is lost, missing or damaged on the storage, or is being uploaded again. The
            // old one may then be the last version.
            let isProven = "f.status = 'remote' AND NOT EXISTS (SELECT 1 FROM lfs_job j WHERE j.fileID = f.id)"
            return switch self {
            case .replaced: ("r.replacedAt IS NULL AND (d.id IS NULL OR \(isProven))", [])
            case .orphaned: ("d.id IS NULL", [])
            // Rows with an invalid age do not match.
            case .expired(let age):
                ("r.replacedAt IS NOT NULL AND r.replacedAge BETWEEN 0 AND ? AND \(isProven)", [age])
            case .all: ("r.replacedAt IS NOT NULL AND \(isProven)", [])
            }
        }
    }

    static func has(_ settled: Settled, _ db: Database) throws -> Bool {
        try !rows(settled, limit: 1, db).isEmpty
    }

    /// Removes one batch. LFS deletes the bytes automatically, as for any deleted file.
    ///
    /// - Returns: nil if no rows match.
    static func remove(_ settled: Settled, _ db: Database) throws -> Removed? {
        let rows = try rows(settled, limit: batch, db)
        return rows.isEmpty ? nil : try remove(rows, db)
    }

    private static func rows(_ settled: Settled, limit: Int, _ db: Database) throws -> [Row] {
        let (source, arguments) = settled.source
        return try Row.fetchAll(
            db, sql: "SELECT r.id, r.fileId, r.replacedAt IS NOT NULL \(source) LIMIT \(limit)",
            arguments: arguments)
    }

    /// Removes the versions of a removed document, the oldest ones first.
    ///
    /// - Parameter limit: the maximum number. Nil for all.
    static func removeAll(of document: DatabaseValue, atMost limit: Int? = nil, _ db: Database) throws -> Removed {
        let sql = """
            SELECT id, fileId, replacedAt IS NOT NULL FROM uploader_replaced WHERE documentId = ?
            ORDER BY id LIMIT \(limit ?? -1)
            """
        return try remove(Row.fetchAll(db, sql: sql, arguments: [document]), db)
    }

    /// Returns true if the documents together have more versions than a batch.
    static func hasMany(of documents: [DatabaseValue], _ db: Database) throws -> Bool {
        var left = batch
        for document in documents where left >= 0 {
            let sql = "SELECT count(*) FROM (SELECT 1 FROM uploader_replaced WHERE documentId = ? LIMIT ?)"
            left -= try Int.fetchOne(db, sql: sql, arguments: [document, left + 1]) ?? 0
        }
        return left < 0
    }

    /// Removes one version, including repeated occurrences in its document.
    ///
    /// - Returns: nil if another process has removed it first.
    static func remove(_ id: DatabaseValue, _ db: Database) throws -> Removed? {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT r.id, r.fileId, 1 FROM uploader_replaced o
                JOIN uploader_replaced r ON r.documentId = o.documentId AND r.fileId = o.fileId
                WHERE o.id = ? AND r.replacedAt IS NOT NULL
                """, arguments: [id])
        return rows.isEmpty ? nil : try remove(rows, db)
    }

    private static func remove(_ rows: [Row], _ db: Database) throws -> Removed {
        var removed = Removed(rows: rows.count)
        let statement = try db.cachedStatement(sql: "DELETE FROM uploader_replaced WHERE id = ?")
        for row in rows {
            try statement.execute(arguments: [row[0]])
            if Bool.fromDatabaseValue(row[2]) == true { removed.versions += 1 }
        }
        // A file is deleted with the last row that refers to it.
        for file in Set(rows.map { $0[1] as DatabaseValue }) {
            removed.bytes = removed.bytes.addingSaturated(try removeFile(file, db) ?? 0)
        }
        if removed.versions > 0 { try EntryTable.noteChange(db) }
        return removed
    }

    /// Deletes a file that no document and no version refers to.
    ///
    /// - Returns: its size. Nil if the file stays or does not exist.
    static func removeFile(_ id: DatabaseValue, _ db: Database) throws -> Int64? {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT byteCount FROM lfs_file f
                WHERE f.id = ? AND NOT EXISTS (SELECT 1 FROM uploader_document d WHERE d.fileId = f.id)
                    AND NOT EXISTS (SELECT 1 FROM uploader_replaced r WHERE r.fileId = f.id)
                """, arguments: [id])
        guard let row else { return nil }
        try db.execute(sql: "DELETE FROM lfs_file WHERE id = ?", arguments: [id])
        return Int64.fromDatabaseValue(row[0]).map { max($0, 0) } ?? 0
    }

    // MARK: Ages

    /// Kept versions whose age is missing, invalid, or in the future.
    private static let oddAge = """
        replacedAt IS NOT NULL AND (replacedAge IS NULL OR replacedAge < 0 OR replacedAge > ?1)
        """

    /// Sets invalid ages of kept versions to the current age, so that these versions expire eventually.
    ///
    /// - Returns: true if there may be more of them.
    static func putRight(at age: TimeInterval, _ db: Database) throws -> Bool {
        try db.execute(
            sql: """
                UPDATE uploader_replaced SET replacedAge = ?1
                WHERE id IN (SELECT id FROM uploader_replaced WHERE \(oddAge) LIMIT \(batch))
                """, arguments: [age])
        return db.changesCount == batch
    }

    static func hasOddAge(over age: TimeInterval, _ db: Database) throws -> Bool {
        try Row.fetchOne(
            db, sql: "SELECT 1 FROM uploader_replaced WHERE \(oddAge) LIMIT 1", arguments: [age]) != nil
    }

    // MARK: Local copies

    /// An uploaded version whose local copy has to be freed.
    struct Copy: Sendable {
        let id: Int64
        /// Nil if a document uses the file, so that its copy stays.
        let file: FileID?
    }

    static func copies(after last: Int64, _ db: Database) throws -> [Copy] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT r.id, f.id, EXISTS (SELECT 1 FROM uploader_document d WHERE d.fileId = f.id)
                FROM uploader_replaced r JOIN lfs_file f ON f.id = r.fileId
                WHERE r.hasCopy = 1 AND r.id > ? AND f.status = 'remote' ORDER BY r.id LIMIT \(batch)
                """, arguments: [last]
        ).map { row in
            Copy(id: row[0], file: Bool.fromDatabaseValue(row[2]) == true ? nil : FileID(stored: row[1]))
        }
    }

    /// Records that local copies were freed, or stay permanently.
    static func noteCopies(gone ids: [Int64], _ db: Database) throws {
        let statement = try db.cachedStatement(sql: "UPDATE uploader_replaced SET hasCopy = 0 WHERE id = ?")
        for id in ids { try statement.execute(arguments: [id]) }
    }
}

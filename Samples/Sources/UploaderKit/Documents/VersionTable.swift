import Foundation
import GRDB
import LFS

/// `uploader_replaced`: files that a newer one of the same document has replaced. Those of them that are kept for a
/// time are the document's old versions. Each stays at least until the new one is on the storage, so that the storage
/// never has neither, also for the run after one that was killed.
enum VersionTable {
    static let schema = """
        CREATE TABLE uploader_replaced_new (
            -- In the order of the replacements.
            id INTEGER PRIMARY KEY,
            -- A document may be removed by another device: it is no foreign key.
            documentId TEXT NOT NULL,
            -- Several documents may have had the same file, and one may have had it twice.
            fileId TEXT NOT NULL REFERENCES lfs_file(id) ON DELETE CASCADE,
            -- Those of the document until then.
            addedAt DATETIME,
            stamp TEXT,
            -- Seconds since 1970; NULL for one that is not kept, and goes when the new one is on the storage.
            replacedAt REAL,
            -- The age at its replacement, in seconds; of those that are kept: see VersionClock.
            replacedAge REAL,
            -- 1 until its local copy has gone; of those that are kept.
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

    /// A transaction takes so many, so that others who write do not wait for long.
    static let batch = 500

    /// Whether there can be versions: a database that is only looked at may be that of an older uploader, or of another
    /// app.
    static func isThere(_ db: Database) throws -> Bool {
        try DocumentSchema.has("replacedAt", in: "uploader_replaced", db)
    }

    /// A time of a row; nil for what is none, and for what is in no calendar.
    static func time(_ value: DatabaseValue) -> Date? { seconds(value).flatMap(time) }

    /// A number of seconds of a row; nil for what is no number.
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

    /// Notes in the transaction which gives a document its new file what becomes of the old one.
    ///
    /// - Parameter isVersion: false where it has the same bytes as the new one, or has lost them.
    static func replace(_ old: AttachedDocument, isVersion: Bool, at time: Date, _ db: Database) throws {
        var memory = try VersionMemory.fetch(db)
        let isKept = isVersion && memory.holding != .none
        if !isKept, old.file.status != .remote {
            // It never was on the storage, and the bytes of the new version are durable here.
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

    /// What was removed.
    struct Removed: Equatable, Sendable {
        /// Without the files that were not kept.
        var versions = 0
        /// Of the files that went with them; those that others have stay.
        var bytes: Int64 = 0
        /// All that were looked at, with those that were not kept.
        var rows = 0

        static func + (left: Removed, right: Removed) -> Removed {
            Removed(
                versions: left.versions + right.versions, bytes: left.bytes.addingSaturated(right.bytes),
                rows: left.rows + right.rows)
        }
    }

    /// Which of them go.
    enum Settled: Sendable {
        /// Those that are not kept, and whose new version is on the storage.
        case replaced
        /// Those of documents that are removed.
        case orphaned
        /// Those that were replaced at an age or before, and whose new version is on the storage.
        case expired(TimeInterval)
        /// All versions whose new one is on the storage.
        case all

        /// Where they are looked for: `r` is one of them, `d` its document, `f` the file that the document has now.
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
            // A job says that the new one is lost, missing there or damaged, or is sent anew: this may be the last.
            let isProven = "f.status = 'remote' AND NOT EXISTS (SELECT 1 FROM lfs_job j WHERE j.fileID = f.id)"
            return switch self {
            case .replaced: ("r.replacedAt IS NULL AND (d.id IS NULL OR \(isProven))", [])
            case .orphaned: ("d.id IS NULL", [])
            // An odd age is none of them.
            case .expired(let age):
                ("r.replacedAt IS NOT NULL AND r.replacedAge BETWEEN 0 AND ? AND \(isProven)", [age])
            case .all: ("r.replacedAt IS NOT NULL AND \(isProven)", [])
            }
        }
    }

    static func has(_ settled: Settled, _ db: Database) throws -> Bool {
        try !rows(settled, limit: 1, db).isEmpty
    }

    /// Removes one batch. The bytes go by themselves, as those of any deleted file.
    ///
    /// - Returns: nil when there is none.
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

    /// Removes the versions of a document that is removed, the oldest first.
    ///
    /// - Parameter limit: how many at most; nil for all.
    static func removeAll(of document: DatabaseValue, atMost limit: Int? = nil, _ db: Database) throws -> Removed {
        let sql = """
            SELECT id, fileId, replacedAt IS NOT NULL FROM uploader_replaced WHERE documentId = ?
            ORDER BY id LIMIT \(limit ?? -1)
            """
        return try remove(Row.fetchAll(db, sql: sql, arguments: [document]), db)
    }

    /// Whether documents have more than a batch of them together.
    static func hasMany(of documents: [DatabaseValue], _ db: Database) throws -> Bool {
        var left = batch
        for document in documents where left >= 0 {
            let sql = "SELECT count(*) FROM (SELECT 1 FROM uploader_replaced WHERE documentId = ? LIMIT ?)"
            left -= try Int.fetchOne(db, sql: sql, arguments: [document, left + 1]) ?? 0
        }
        return left < 0
    }

    /// Removes one version, as often as its document has had it.
    ///
    /// - Returns: nil when another process was quicker.
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
        // A file goes with the last row that needs it.
        for file in Set(rows.map { $0[1] as DatabaseValue }) {
            removed.bytes = removed.bytes.addingSaturated(try removeFile(file, db) ?? 0)
        }
        if removed.versions > 0 { try EntryTable.noteChange(db) }
        return removed
    }

    /// Deletes a file that no document has, and no version is.
    ///
    /// - Returns: its size; nil where it stays, or is not there.
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

    /// Kept ones whose age is none, or is still to come.
    private static let oddAge = """
        replacedAt IS NOT NULL AND (replacedAge IS NULL OR replacedAge < 0 OR replacedAge > ?1)
        """

    /// Lets the time of kept versions whose age is odd begin now, so that it ends once.
    ///
    /// - Returns: whether there may be more of them.
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

    /// A version on the storage whose local copy is still to go.
    struct Copy: Sendable {
        let id: Int64
        /// Nil where nothing is to be done about it: a document has the file.
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

    /// Notes that the local copies of some are gone, or stay for good.
    static func noteCopies(gone ids: [Int64], _ db: Database) throws {
        let statement = try db.cachedStatement(sql: "UPDATE uploader_replaced SET hasCopy = 0 WHERE id = ?")
        for id in ids { try statement.execute(arguments: [id]) }
    }
}

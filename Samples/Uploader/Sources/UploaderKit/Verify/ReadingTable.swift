import GRDB
import LFS

/// The table `uploader_reading` with the time of the last read of each object. A column of `uploader_storage` has the
/// start of a read of all objects.
enum ReadingTable {
    /// The schema, which the migration `uploader.verify` creates. The table has no reference to the files, because it
    /// would prevent their deletion.
    static let schema = """
        CREATE TABLE uploader_reading (
            fileId TEXT PRIMARY KEY NOT NULL,
            -- Milliseconds since 1970. 0 for never.
            readAt INTEGER NOT NULL DEFAULT 0
        );
        CREATE INDEX uploader_reading_readAt ON uploader_reading(readAt, fileId);
        -- The start of an unfinished read of all objects, in milliseconds since 1970.
        ALTER TABLE \(DocumentSchema.ownTable) ADD COLUMN readingSince INTEGER;
        """

    /// An object that can be read.
    struct Entry: Sendable {
        let id: FileData.ID
        /// The recorded size.
        let byteCount: Int64
        fileprivate let readAt: Int64
    }

    // MARK: Rows

    /// Adds missing rows of files after an id.
    ///
    /// - Returns: the last id that was examined. Nil at the end.
    static func addMissing(after last: String, limit: Int, _ db: Database) throws -> String? {
        let ids = try Row.fetchAll(
            db, sql: "SELECT id FROM lfs_file WHERE id > ? AND status = 'remote' ORDER BY id LIMIT ?",
            arguments: [last, limit]
        ).compactMap { String.fromDatabaseValue($0[0]) }
        let statement = try db.cachedStatement(sql: "INSERT OR IGNORE INTO uploader_reading (fileId) VALUES (?)")
        for id in ids { try statement.execute(arguments: [id]) }
        return ids.last
    }

    /// Removes rows of deleted files after an id.
    ///
    /// - Returns: the last id that was examined. Nil at the end.
    static func removeStale(after last: String, limit: Int, _ db: Database) throws -> String? {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT r.fileId, f.id IS NULL FROM uploader_reading r
                LEFT JOIN lfs_file f ON f.id = r.fileId AND f.status = 'remote'
                WHERE r.fileId > ? ORDER BY r.fileId LIMIT ?
                """, arguments: [last, limit])
        let statement = try db.cachedStatement(sql: "DELETE FROM uploader_reading WHERE fileId = ?")
        for row in rows where Bool.fromDatabaseValue(row[1]) == true { try statement.execute(arguments: [row[0]]) }
        return rows.last.flatMap { String.fromDatabaseValue($0[0]) }
    }

    /// Resets times in the future, which result from a clock that was set back.
    static func forgetFuture(now: Int64, _ db: Database) throws {
        try db.execute(sql: "UPDATE uploader_reading SET readAt = 0 WHERE readAt > ?", arguments: [now])
    }

    /// Resets all times, because the objects on another storage were never read.
    static func forgetAll(_ db: Database) throws {
        try db.execute(sql: "UPDATE uploader_reading SET readAt = 0 WHERE readAt <> 0")
        try setSince(nil, db)
    }

    // MARK: Reading

    /// Returns the number and the size of the objects that were not read since a time.
    static func total(before since: Int64, _ db: Database) throws -> (files: Int, bytes: Int64) {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT count(*), CAST(total(f.byteCount) AS INTEGER)
                FROM uploader_reading r JOIN lfs_file f ON f.id = r.fileId
                WHERE r.readAt < ?
                """, arguments: [since])
        return (row.flatMap { Int.fromDatabaseValue($0[0]) } ?? 0, row.flatMap { Int64.fromDatabaseValue($0[1]) } ?? 0)
    }

    /// Returns the next page of objects whose last read was before a time. The objects that were read longest ago come
    /// first. The page starts after the entry `last`.
    static func page(before since: Int64, after last: Entry?, limit: Int, _ db: Database) throws -> [Entry] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT r.fileId, f.byteCount, r.readAt
                FROM uploader_reading r JOIN lfs_file f ON f.id = r.fileId
                WHERE (r.readAt, r.fileId) > (?, ?) AND r.readAt < ? ORDER BY r.readAt, r.fileId LIMIT ?
                """, arguments: [last?.readAt ?? -1, last?.id.uuidString ?? "", since, limit])
        return rows.compactMap { row in
            guard let id = FileData.ID(stored: row[0]), let readAt = Int64.fromDatabaseValue(row[2]) else {
                return nil
            }
            return Entry(id: id, byteCount: max(Int64.fromDatabaseValue(row[1]) ?? 0, 0), readAt: readAt)
        }
    }

    static func note(_ ids: [FileData.ID], at time: Int64, _ db: Database) throws {
        let statement = try db.cachedStatement(sql: "UPDATE uploader_reading SET readAt = ? WHERE fileId = ?")
        for id in ids { try statement.execute(arguments: [time, id]) }
    }

    /// Returns the time of the oldest read, or nil if no object was read or one was never read.
    static func oldest(_ db: Database) throws -> Int64? {
        try Int64.fetchOne(db, sql: "SELECT min(readAt) FROM uploader_reading").flatMap { $0 > 0 ? $0 : nil }
    }

    static func neverRead(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM uploader_reading WHERE readAt = 0") ?? 0
    }

    // MARK: Complete reads

    /// Returns the start of the read of all objects that is in progress, or nil.
    static func since(_ db: Database) throws -> Int64? {
        try Row.fetchOne(db, sql: "SELECT readingSince FROM \(DocumentSchema.ownTable)")
            .flatMap { Int64.fromDatabaseValue($0[0]) }
    }

    static func setSince(_ time: Int64?, _ db: Database) throws {
        try db.execute(sql: "UPDATE \(DocumentSchema.ownTable) SET readingSince = ?", arguments: [time])
    }
}

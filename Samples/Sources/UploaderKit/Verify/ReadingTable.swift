import GRDB
import LFS

/// When each object was read back last: the table `uploader_reading`, and in `uploader_storage` since when all of them
/// are being read.
enum ReadingTable {
    /// Made by the migration `uploader.verify`. No reference leads from it to the files: one would keep them from
    /// going.
    static let schema = """
        CREATE TABLE uploader_reading (
            fileId TEXT PRIMARY KEY NOT NULL,
            -- Milliseconds since 1970; 0 for never.
            readAt INTEGER NOT NULL DEFAULT 0
        );
        CREATE INDEX uploader_reading_readAt ON uploader_reading(readAt, fileId);
        -- Since when a reading of all objects goes on that has not come to its end; milliseconds since 1970.
        ALTER TABLE \(DocumentSchema.ownTable) ADD COLUMN readingSince INTEGER;
        """

    /// An object that can be read.
    struct Entry: Sendable {
        let id: FileData.ID
        /// As recorded.
        let byteCount: Int64
        fileprivate let readAt: Int64
    }

    // MARK: Which there are

    /// Files whose note is missing, after an id.
    ///
    /// - Returns: the last id that was looked at; nil at the end.
    static func addMissing(after last: String, limit: Int, _ db: Database) throws -> String? {
        let ids = try Row.fetchAll(
            db, sql: "SELECT id FROM lfs_file WHERE id > ? AND status = 'remote' ORDER BY id LIMIT ?",
            arguments: [last, limit]
        ).compactMap { String.fromDatabaseValue($0[0]) }
        let statement = try db.cachedStatement(sql: "INSERT OR IGNORE INTO uploader_reading (fileId) VALUES (?)")
        for id in ids { try statement.execute(arguments: [id]) }
        return ids.last
    }

    /// Removes notes of files that are gone, after an id.
    ///
    /// - Returns: the last id that was looked at; nil at the end.
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

    /// Forgets times that are still to come: the clock was set back since.
    static func forgetFuture(now: Int64, _ db: Database) throws {
        try db.execute(sql: "UPDATE uploader_reading SET readAt = 0 WHERE readAt > ?", arguments: [now])
    }

    // MARK: Reading

    /// How many there are that were not read since a time, and how many bytes they have.
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

    /// Those that were not read since a time, longest ago first, after one of them.
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

    /// When the object was read that was read longest ago; nil when there is none, or one was never read.
    static func oldest(_ db: Database) throws -> Int64? {
        try Int64.fetchOne(db, sql: "SELECT min(readAt) FROM uploader_reading").flatMap { $0 > 0 ? $0 : nil }
    }

    static func neverRead(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM uploader_reading WHERE readAt = 0") ?? 0
    }

    // MARK: All of them

    /// Since when all are being read; nil when none of these readings is under way.
    static func since(_ db: Database) throws -> Int64? {
        try Row.fetchOne(db, sql: "SELECT readingSince FROM \(DocumentSchema.ownTable)")
            .flatMap { Int64.fromDatabaseValue($0[0]) }
    }

    static func setSince(_ time: Int64?, _ db: Database) throws {
        try db.execute(sql: "UPDATE \(DocumentSchema.ownTable) SET readingSince = ?", arguments: [time])
    }
}

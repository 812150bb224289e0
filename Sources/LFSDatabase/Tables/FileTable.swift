package import Foundation
package import GRDB
package import LFSSystem

/// `lfs_file`: the files. A row of it goes to every device.
package enum FileTable {
    package static let name = "lfs_file"

    // MARK: Conditions

    /// Whether there is a row with an id.
    static func contains(_ id: String) -> String { "EXISTS (SELECT 1 FROM lfs_file WHERE id = \(id))" }
    /// Whether the row with an id says that the file is on the storage.
    static func isRemote(_ id: String) -> String {
        "EXISTS (SELECT 1 FROM lfs_file WHERE id = \(id) AND status = 'remote')"
    }
    /// Joins the row to a table with a column `fileID`.
    static func joined(to alias: String) -> String { "JOIN lfs_file f ON f.id = \(alias).fileID" }

    // MARK: One file

    package static func fetch(_ id: FileID, _ db: Database) throws -> FileRow? {
        try FileRow.fetchOne(db.cachedStatement(sql: "SELECT * FROM lfs_file WHERE id = ?"), arguments: [id])
    }

    /// The row with its job.
    package static func state(of id: FileID, _ db: Database) throws -> RowState? {
        let sql = """
            SELECT f.*, \(JobTable.stateColumns) FROM lfs_file f \(JobTable.joined(to: "f")) WHERE f.id = ?
            """
        return try RowState.fetchOne(db.cachedStatement(sql: sql), arguments: [id])
    }

    /// The row if it is there and still waits for its upload, the first one or one that is done again.
    package static func pending(_ id: FileID, _ db: Database) throws -> FileRow? {
        let sql = "SELECT * FROM lfs_file WHERE id = ? AND \(JobTable.isQueued("lfs_file.id"))"
        return try FileRow.fetchOne(db.cachedStatement(sql: sql), arguments: [id])
    }

    package static func contains(_ id: FileID, _ db: Database) throws -> Bool {
        try Bool.fetchOne(db.cachedStatement(sql: "SELECT \(contains("?"))"), arguments: [id]) ?? false
    }

    // MARK: Many files

    package static func count(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM lfs_file") ?? 0
    }

    package static func remoteCount(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM lfs_file WHERE status = 'remote'") ?? 0
    }

    package static func hasRemote(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM lfs_file WHERE status = 'remote')") ?? false
    }

    /// Those of the ids that have a row.
    package static func existing(_ ids: some Collection<FileID>, _ db: Database) throws -> Set<FileID> {
        try FileID.fetchSet(
            db, sql: "SELECT id FROM lfs_file WHERE id IN (\(databaseQuestionMarks(count: ids.count)))",
            arguments: StatementArguments(ids))
    }

    /// The ids in these rows, as far as they are there and can be read.
    package static func ids(inRows rows: some Collection<Int64>, _ db: Database) throws -> [FileID] {
        try DatabaseValue.fetchAll(
            db, sql: "SELECT id FROM lfs_file WHERE rowid IN (\(databaseQuestionMarks(count: rows.count)))",
            arguments: StatementArguments(rows)
        ).compactMap(FileID.fromDatabaseValue)
    }

    /// The rows with these ids.
    package static func rows(_ ids: some Collection<FileID>, _ db: Database) throws -> [RowResult<FileRow>] {
        try RowResult<FileRow>.fetchAll(
            db, sql: "SELECT * FROM lfs_file WHERE id IN (\(databaseQuestionMarks(count: ids.count)))",
            arguments: StatementArguments(ids))
    }

    /// How many files have their only bytes here, as far as is known: not uploaded yet, to be uploaded again, or lost
    /// on the storage.
    package static func onlyHereCount(_ db: Database) throws -> Int {
        let sql = """
            SELECT count(*) FROM lfs_file
            WHERE \(JobTable.contains("id")) OR status = 'local' AND \(StateTable.isOurs("key"))
            """
        return try Int.fetchOne(db, sql: sql) ?? 0
    }

    // MARK: Content

    /// Files with other ids and the same bytes that this database has made, and of which nothing is known to be wrong:
    /// they are on the storage, or wait for their upload. Those on the storage come first.
    ///
    /// There is none while deletions are held: then another device may have deleted the file already, which knows
    /// nothing of who refers to it here.
    package static func sameContent(_ file: FileRow, limit: Int, _ db: Database) throws -> [FileRow] {
        let sql = """
            SELECT * FROM lfs_file WHERE sha256 = ?1 AND byteCount = ?2 AND id <> ?3 AND \(StateTable.isOurs("key"))
                AND NOT \(StateTable.holdsDeletions)
                AND NOT \(JobTable.isInTrouble("lfs_file.id"))
                AND (status = 'remote' OR \(JobTable.isQueued("lfs_file.id")))
            ORDER BY status DESC, id LIMIT ?4
            """
        return try RowResult<FileRow>.fetchAll(
            db.cachedStatement(sql: sql), arguments: [file.sha256, file.byteCount, file.id, limit]
        ).compactMap(\.readable)
    }

    // MARK: Keys

    /// What the keys begin with, up to the first slash.
    package static func prefixes(_ db: Database) throws -> Set<String> {
        let sql = """
            SELECT DISTINCT substr(key, 1, instr(key, '/')) FROM lfs_file
            WHERE typeof(key) = 'text' AND instr(key, '/') > 0
            """
        return try String.fetchSet(db, sql: sql)
    }

    /// The keys that are in use: those of them that stand in any row.
    package static func used(_ keys: some Collection<String>, _ db: Database) throws -> Set<String> {
        try String.fetchSet(
            db, sql: "SELECT key FROM lfs_file WHERE key IN (\(databaseQuestionMarks(count: keys.count)))",
            arguments: StatementArguments(keys))
    }

    /// Whether one of the objects is that of a row which says that its file is on the storage.
    package static func hasRemote(_ keys: [FileID: String], _ db: Database) throws -> Bool {
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT id, key FROM lfs_file
                WHERE status = 'remote' AND id IN (\(databaseQuestionMarks(count: keys.count)))
                """,
            arguments: StatementArguments(keys.keys))
        while let row = try rows.next() {
            guard let id = FileID.fromDatabaseValue(row[0]), let key = String.fromDatabaseValue(row[1]) else {
                continue
            }
            if keys[id] == key { return true }
        }
        return false
    }

    // MARK: Writing

    /// Writes that an upload is proven, if the row is there and waits for it.
    ///
    /// - Returns: whether it did.
    package static func noteUpload(_ id: FileID, url: URL, _ proof: FileRow.Proof, _ db: Database) throws -> Bool {
        try db.cachedStatement(
            sql: "UPDATE lfs_file SET status = 'remote', url = ?, proof = ? WHERE id = ? AND status = 'local'"
        ).execute(arguments: [url.absoluteString, proof, id])
        return db.changesCount > 0
    }

    /// Writes what another upload of a file has brought that is on the storage already.
    package static func noteUploadAgain(_ id: FileID, url: URL, _ proof: FileRow.Proof, _ db: Database) throws {
        try db.cachedStatement(
            sql: "UPDATE lfs_file SET url = ?1, proof = ?2 WHERE id = ?3 AND (url IS NOT ?1 OR proof IS NOT ?2)"
        ).execute(arguments: [url.absoluteString, proof, id])
    }

    /// Whether it is on the storage, and nobody has seen that its bytes are right.
    static func isUnproven(_ id: String) -> String {
        "EXISTS (SELECT 1 FROM lfs_file WHERE id = \(id) AND status = 'remote' AND proof IS NOT 'checksum')"
    }

    /// Writes that right bytes were read from its object.
    static func noteProof(_ id: FileID, _ db: Database) throws {
        try db.execute(
            sql: """
                UPDATE lfs_file SET proof = 'checksum'
                WHERE id = ? AND status = 'remote' AND proof IS NOT 'checksum'
                """,
            arguments: [id])
    }

    /// Inserts a row that a table has kept, under the names that its columns have here.
    static func insertKept(_ id: FileID, in table: String, _ db: Database) throws {
        let columns = "status, url, proof, name, contentType, byteCount, sha256, crc64, key, createdAt"
        let sql = "INSERT INTO lfs_file (id, \(columns)) SELECT fileID, \(columns) FROM \(table) WHERE fileID = ?"
        try db.cachedStatement(sql: sql).execute(arguments: [id])
    }

    /// - Parameter id: as it stands in a column of the host's, which may be anything.
    static func delete(_ id: DatabaseValue, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM main.lfs_file WHERE id = ?", arguments: [id])
    }

    static func deleteAll(_ db: Database) throws { try db.execute(sql: "DELETE FROM lfs_file") }
}

/// Rows in the order of their ids, page by page.
extension FileTable {
    /// All rows, with what a scan needs of them.
    package static func scan(
        after id: DatabaseValue, limit: Int, _ db: Database
    ) throws -> RowPage<RowResult<ScannedRow>> {
        let sql = scanned + " WHERE f.id > ? ORDER BY f.id LIMIT ?"
        return RowPage(try RowResult.fetchAll(db.cachedStatement(sql: sql), arguments: [id, limit]))
    }

    /// Those whose key begins with a text.
    package static func scan(
        after id: DatabaseValue, below prefix: String, limit: Int, _ db: Database
    ) throws -> RowPage<RowResult<ScannedRow>> {
        let sql = scanned + " WHERE f.id > ?1 AND substr(f.key, 1, length(?2)) = ?2 ORDER BY f.id LIMIT ?3"
        return RowPage(try RowResult.fetchAll(db.cachedStatement(sql: sql), arguments: [id, prefix, limit]))
    }

    /// Whether a column of the row looks odd that only those need who read all of it.
    static func isOdd(_ alias: String) -> String {
        """
        NOT (\(FileRow.isDate("\(alias).createdAt"))) OR \(alias).url IS '' OR typeof(\(alias).updateID) <> 'text'
            OR coalesce(\(alias).proof, 'checksum') NOT IN ('checksum', 'byteCount')
            OR 'blob' IN (
                typeof(\(alias).url), typeof(\(alias).name), typeof(\(alias).contentType), typeof(\(alias).crc64))
        """
    }

    private static let scanned = """
        SELECT f.id, f.key, f.status, f.byteCount, f.sha256, j.state AS jobState, j.notBefore,
            \(isOdd("f")) OR 'blob' IN (typeof(j.errorCode), typeof(j.errorMessage)) AS isOdd
        FROM lfs_file f \(JobTable.joined(to: "f"))
        """

    /// Files that this database has made and that are not on the storage.
    ///
    /// - Parameter withLosses: also those whose bytes are known to be lost.
    package static func ownLocal(
        after id: DatabaseValue, withLosses: Bool, limit: Int, _ db: Database
    ) throws -> RowPage<FileID> {
        let sql = """
            SELECT id FROM lfs_file WHERE id > ? AND typeof(id) = 'text' AND status = 'local'
            AND \(StateTable.isOurs("key")) AND (? OR NOT \(JobTable.isNotedAsLost("lfs_file.id")))
            ORDER BY id LIMIT ?
            """
        return RowPage(ids: try DatabaseValue.fetchAll(db, sql: sql, arguments: [id, withLosses, limit]))
    }

    /// Files on the storage whose keys lie in no namespace.
    package static func remoteWithoutNamespace(
        after id: DatabaseValue, limit: Int, _ db: Database
    ) throws -> RowPage<FileID> {
        let sql = """
            SELECT id FROM lfs_file WHERE id > ? AND typeof(id) = 'text' AND instr(key, '/') = 0
                AND status = 'remote' ORDER BY id LIMIT ?
            """
        return RowPage(ids: try DatabaseValue.fetchAll(db, sql: sql, arguments: [id, limit]))
    }

    /// Files on the storage that are not being uploaded again: of those the row does not describe the object yet.
    package static func settledRemote(
        after id: DatabaseValue, limit: Int, _ db: Database
    ) throws -> RowPage<RowResult<FileRow>> {
        let sql = """
            SELECT * FROM lfs_file WHERE id > ? AND status = 'remote' AND NOT \(JobTable.isQueued("lfs_file.id"))
            ORDER BY id LIMIT ?
            """
        return RowPage(try RowResult.fetchAll(db, sql: sql, arguments: [id, limit]))
    }

    /// Those of some files that are on the storage and are not being uploaded again.
    package static func settledRemote(
        _ ids: some Collection<FileID>, _ db: Database
    ) throws -> [RowResult<FileRow>] {
        let sql = """
            SELECT * FROM lfs_file WHERE id IN (\(databaseQuestionMarks(count: ids.count))) AND status = 'remote'
                AND NOT \(JobTable.isQueued("lfs_file.id"))
            """
        return try RowResult<FileRow>.fetchAll(db, sql: sql, arguments: StatementArguments(ids))
    }

    /// A file on the storage, another one than this, of which nothing is known to be wrong; nil when there is none.
    package static func healthyRemote(besides id: FileID, _ db: Database) throws -> FileRow? {
        let sql = """
            SELECT * FROM lfs_file WHERE status = 'remote' AND id <> ? AND byteCount > 0
            AND NOT \(JobTable.contains("lfs_file.id")) LIMIT 20
            """
        return try RowResult<FileRow>.fetchAll(db, sql: sql, arguments: [id]).lazy.compactMap(\.readable).first
    }
}

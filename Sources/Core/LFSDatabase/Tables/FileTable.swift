package import Foundation
package import GRDB
package import LFSSystem

/// `lfs_file`: the files. Its rows are shared with every device.
package enum FileTable {
    package static let name = "lfs_file"

    // MARK: Conditions

    /// Returns an SQL condition that is true if a row with this id exists.
    static func contains(_ id: String) -> String { "EXISTS (SELECT 1 FROM lfs_file WHERE id = \(id))" }
    /// Returns an SQL condition that is true if the row with this id marks the file as uploaded.
    static func isRemote(_ id: String) -> String {
        "EXISTS (SELECT 1 FROM lfs_file WHERE id = \(id) AND status = 'remote')"
    }
    /// Returns an SQL expression for the bytes of an id, which find a row whatever its id contains.
    static func bytes(_ id: String) -> String { "CAST(\(id) AS BLOB)" }
    /// Returns an SQL expression for an id, or NULL for one with a NUL. GRDB reads a text up to its first NUL, and that
    /// part can be the id of another file.
    static func whole(_ id: String) -> String { "iif(instr(\(id), char(0)) = 0, \(id), NULL)" }
    /// Returns the SQL that joins the row to a table with a column `fileID`.
    static func joined(to alias: String) -> String { "JOIN lfs_file f ON f.id = \(alias).fileID" }

    // MARK: One file

    package static func fetch(_ id: FileID, _ db: Database) throws -> FileRow? {
        try FileRow.fetchOne(db.cachedStatement(sql: "SELECT * FROM lfs_file WHERE id = ?"), arguments: [id])
    }

    /// Returns the row with its job.
    package static func state(of id: FileID, _ db: Database) throws -> RowState? {
        let sql = """
            SELECT f.*, \(JobTable.stateColumns) FROM lfs_file f \(JobTable.joined(to: "f")) WHERE f.id = ?
            """
        return try RowState.fetchOne(db.cachedStatement(sql: sql), arguments: [id])
    }

    /// Returns the row if it exists and waits for its upload, the first one or a repeated one.
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

    package static func localCount(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM lfs_file WHERE status = 'local'") ?? 0
    }

    package static func hasRemote(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM lfs_file WHERE status = 'remote')") ?? false
    }

    /// Returns those of the ids that have a row.
    package static func existing(_ ids: some Collection<FileID>, _ db: Database) throws -> Set<FileID> {
        try FileID.fetchSet(
            db, sql: "SELECT id FROM lfs_file WHERE id IN (\(databaseQuestionMarks(count: ids.count)))",
            arguments: StatementArguments(ids))
    }

    /// Returns the readable ids of the rows with these row ids.
    package static func ids(inRows rows: some Collection<Int64>, _ db: Database) throws -> [FileID] {
        try DatabaseValue.fetchAll(
            db, sql: "SELECT id FROM lfs_file WHERE rowid IN (\(databaseQuestionMarks(count: rows.count)))",
            arguments: StatementArguments(rows)
        ).compactMap(FileID.fromDatabaseValue)
    }

    /// Returns the rows with these ids.
    package static func rows(_ ids: some Collection<FileID>, _ db: Database) throws -> [RowResult<FileRow>] {
        try RowResult<FileRow>.fetchAll(
            db, sql: "SELECT * FROM lfs_file WHERE id IN (\(databaseQuestionMarks(count: ids.count)))",
            arguments: StatementArguments(ids))
    }

    /// Returns the number of files whose only known bytes are on this device: not uploaded yet, to be uploaded again,
    /// or lost on the storage.
    package static func onlyHereCount(_ db: Database) throws -> Int {
        let sql = """
            SELECT count(*) FROM lfs_file
            WHERE \(JobTable.contains("id")) OR status = 'local' AND \(StateTable.isOurs("key"))
            """
        return try Int.fetchOne(db, sql: sql) ?? 0
    }

    // MARK: Content

    /// Returns those of the checksums that a row has.
    package static func existing(checksums: some Collection<String>, _ db: Database) throws -> Set<String> {
        try String.fetchSet(
            db, sql: "SELECT sha256 FROM lfs_file WHERE sha256 IN (\(databaseQuestionMarks(count: checksums.count)))",
            arguments: StatementArguments(checksums))
    }

    /// Returns files of this database with other ids and the same bytes, without known problems. They are on the
    /// storage, or wait for their upload. Those on the storage come first.
    ///
    /// Returns none while deletions are held. Then another device may already have deleted such a file, without knowing
    /// which rows on this device refer to it.
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

    /// Returns the prefixes of all keys, up to and including the first slash.
    package static func prefixes(_ db: Database) throws -> Set<String> {
        let sql = """
            SELECT DISTINCT substr(key, 1, instr(key, '/')) FROM lfs_file
            WHERE typeof(key) = 'text' AND instr(key, '/') > 0
            """
        return try String.fetchSet(db, sql: sql)
    }

    /// Returns those of the keys that are used by any row.
    package static func used(_ keys: some Collection<String>, _ db: Database) throws -> Set<String> {
        try String.fetchSet(
            db, sql: "SELECT key FROM lfs_file WHERE key IN (\(databaseQuestionMarks(count: keys.count)))",
            arguments: StatementArguments(keys))
    }

    /// Returns true if one of the objects belongs to a row that marks its file as uploaded.
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

    /// Inserts rows without `updateID`, which the database sets, and `proof`, which only the storage can confirm.
    ///
    /// It does what GRDB's `insert` does with records, in much less time: GRDB inserts each record by a statement that
    /// it composes again, and formats dates by Foundation.
    ///
    /// - Throws: the error of a row. The rows of earlier statements stay. See ``Swift/Array/statementGroups()``.
    package static func insert(_ rows: [FileRow], _ db: Database) throws {
        let marks = "(?, ?, ?, ?, ?, ?, ?, ?, ?, strftime('%Y-%m-%d %H:%M:%f', ?, 'unixepoch'))"
        for group in rows.statementGroups() {
            try db.cachedStatement(
                sql: """
                    INSERT INTO lfs_file (id, status, url, name, contentType, byteCount, sha256, crc64, key, createdAt)
                    VALUES \(list(marks, count: group.count))
                    """
            ).execute(arguments: StatementArguments(group.flatMap(values(of:))))
        }
    }

    private static func values(of row: FileRow) -> [(any DatabaseValueConvertible)?] {
        [
            row.id, row.status, row.url?.absoluteString, row.name, row.contentType, row.byteCount, row.sha256,
            row.crc64, row.key, row.createdAt.timeIntervalSince1970,
        ]
    }

    /// Returns a list that contains an SQL expression several times.
    private static func list(_ expression: String, count: Int) -> String {
        repeatElement(expression, count: count).joined(separator: ", ")
    }

    /// A file that the storage has accepted.
    package typealias Uploaded = (id: FileID, url: URL, proof: FileRow.Proof)

    /// Marks those of the files as uploaded whose rows exist and are still `local`.
    ///
    /// - Returns: the ids of these rows.
    package static func noteUploads(_ uploads: [Uploaded], _ db: Database) throws -> Set<FileID> {
        var noted: Set<FileID> = []
        for group in uploads.statementGroups() {
            let sql = """
                WITH uploaded(id, url, proof) AS (VALUES \(list("(?, ?, ?)", count: group.count)))
                UPDATE lfs_file SET status = 'remote', url = uploaded.url, proof = uploaded.proof
                FROM uploaded WHERE lfs_file.id = uploaded.id AND lfs_file.status = 'local' RETURNING lfs_file.id
                """
            let values: [(any DatabaseValueConvertible)?] = group.flatMap {
                [$0.id, $0.url.absoluteString, $0.proof] as [(any DatabaseValueConvertible)?]
            }
            let ids = try FileID.fetchAll(db.cachedStatement(sql: sql), arguments: StatementArguments(values))
            noted.formUnion(ids)
        }
        return noted
    }

    /// Saves the result of a repeated upload of a file that is already marked as uploaded.
    package static func noteUploadAgain(_ id: FileID, url: URL, proof: FileRow.Proof, _ db: Database) throws {
        try db.cachedStatement(
            sql: "UPDATE lfs_file SET url = ?1, proof = ?2 WHERE id = ?3 AND (url IS NOT ?1 OR proof IS NOT ?2)"
        ).execute(arguments: [url.absoluteString, proof, id])
    }

    /// Returns an SQL condition that is true if the file is on the storage and its checksum is not confirmed.
    static func isUnproven(_ id: String) -> String {
        "EXISTS (SELECT 1 FROM lfs_file WHERE id = \(id) AND status = 'remote' AND proof IS NOT 'checksum')"
    }

    /// Records that the right bytes were read from the file's object.
    static func noteProof(_ id: FileID, _ db: Database) throws {
        try db.execute(
            sql: """
                UPDATE lfs_file SET proof = 'checksum'
                WHERE id = ? AND status = 'remote' AND proof IS NOT 'checksum'
                """,
            arguments: [id])
    }

    /// Records that only the size of the file's object is known to be right.
    package static func withdrawProof(_ id: FileID, _ db: Database) throws {
        let sql = "UPDATE lfs_file SET proof = 'byteCount' WHERE id = ? AND status = 'remote' AND proof = 'checksum'"
        try db.execute(sql: sql, arguments: [id])
    }

    /// Inserts a row from another table that has kept its columns under the same names.
    static func insertKept(_ id: FileID, in table: String, _ db: Database) throws {
        let columns = "status, url, proof, name, contentType, byteCount, sha256, crc64, key, createdAt"
        let sql = "INSERT INTO lfs_file (id, \(columns)) SELECT fileID, \(columns) FROM \(table) WHERE fileID = ?"
        try db.cachedStatement(sql: sql).execute(arguments: [id])
    }

    /// - Parameter id: the unchecked value of a column of the host.
    static func delete(_ id: DatabaseValue, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM main.lfs_file WHERE id = ?", arguments: [id])
    }

    static func deleteAll(_ db: Database) throws { try db.execute(sql: "DELETE FROM lfs_file") }
}

/// Pages of rows in the order of their ids.
extension FileTable {
    /// Returns a page of all rows, with the columns that a scan needs.
    package static func scan(
        after id: DatabaseValue, limit: Int, _ db: Database
    ) throws -> RowPage<RowResult<ScannedRow>> {
        let sql = scanned + " WHERE f.id > ? ORDER BY f.id LIMIT ?"
        return RowPage(try RowResult.fetchAll(db.cachedStatement(sql: sql), arguments: [id, limit]))
    }

    /// Returns a page of the rows whose key has a prefix.
    package static func scan(
        after id: DatabaseValue, below prefix: String, limit: Int, _ db: Database
    ) throws -> RowPage<RowResult<ScannedRow>> {
        let sql = scanned + " WHERE f.id > ?1 AND substr(f.key, 1, length(?2)) = ?2 ORDER BY f.id LIMIT ?3"
        return RowPage(try RowResult.fetchAll(db.cachedStatement(sql: sql), arguments: [id, prefix, limit]))
    }

    /// Returns an SQL condition that is true if a column is invalid that only readers of the whole row need.
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

    /// Returns a page of the files that this database created and that are not on the storage.
    ///
    /// - Parameter withLosses: includes files whose bytes are known to be lost.
    package static func ownLocal(
        after id: DatabaseValue, withLosses: Bool, limit: Int, _ db: Database
    ) throws -> RowPage<FileID> {
        let sql = """
            SELECT id FROM lfs_file WHERE id > ? AND typeof(id) = 'text' AND status = 'local'
            AND \(StateTable.isOurs("key")) AND (? OR NOT \(JobTable.isNotedAsLost("lfs_file.id")))
            AND NOT \(OriginalTable.contains("lfs_file.id"))
            ORDER BY id LIMIT ?
            """
        return RowPage(ids: try DatabaseValue.fetchAll(db, sql: sql, arguments: [id, withLosses, limit]))
    }

    /// Returns a page of the files on the storage whose keys have no namespace.
    package static func remoteWithoutNamespace(
        after id: DatabaseValue, limit: Int, _ db: Database
    ) throws -> RowPage<FileID> {
        let sql = """
            SELECT id FROM lfs_file WHERE id > ? AND typeof(id) = 'text' AND instr(key, '/') = 0
                AND status = 'remote' ORDER BY id LIMIT ?
            """
        return RowPage(ids: try DatabaseValue.fetchAll(db, sql: sql, arguments: [id, limit]))
    }

    /// Returns a page of the files on the storage that are not being uploaded again. During such an upload the row does
    /// not describe the object yet.
    package static func settledRemote(
        after id: DatabaseValue, limit: Int, _ db: Database
    ) throws -> RowPage<RowResult<FileRow>> {
        let sql = """
            SELECT * FROM lfs_file WHERE id > ? AND status = 'remote' AND NOT \(JobTable.isQueued("lfs_file.id"))
            ORDER BY id LIMIT ?
            """
        return RowPage(try RowResult.fetchAll(db, sql: sql, arguments: [id, limit]))
    }

    /// Returns those of the given files that are on the storage and are not being uploaded again.
    package static func settledRemote(
        _ ids: some Collection<FileID>, _ db: Database
    ) throws -> [RowResult<FileRow>] {
        let sql = """
            SELECT * FROM lfs_file WHERE id IN (\(databaseQuestionMarks(count: ids.count))) AND status = 'remote'
                AND NOT \(JobTable.isQueued("lfs_file.id"))
            """
        return try RowResult<FileRow>.fetchAll(db, sql: sql, arguments: StatementArguments(ids))
    }

    /// Returns another file on the storage without known problems, or nil if there is no such file.
    package static func healthyRemote(besides id: FileID, _ db: Database) throws -> FileRow? {
        let sql = """
            SELECT * FROM lfs_file WHERE status = 'remote' AND id <> ? AND byteCount > 0
            AND NOT \(JobTable.contains("lfs_file.id")) LIMIT 20
            """
        return try RowResult<FileRow>.fetchAll(db, sql: sql, arguments: [id]).lazy.compactMap(\.readable).first
    }
}

package import GRDB
package import LFSSystem

/// `lfs_source`: the originals that a backup has read on this device, and their state.
package enum SourceTable {
    static let name = "lfs_source"

    /// Returns the rows of those originals that were read before. An unreadable row is left out. Its original is then
    /// read again, and the row is rewritten.
    package static func rows(_ ids: some Collection<SourceID>, _ db: Database) throws -> [SourceID: SourceRow] {
        let rows = try RowResult<SourceRow>.fetchAll(
            db, sql: "SELECT * FROM lfs_source WHERE id IN (\(databaseQuestionMarks(count: ids.count)))",
            arguments: StatementArguments(ids))
        return Dictionary(rows.compactMap(\.readable).map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    }

    /// An original whose file exists and, according to the rows, is on the storage.
    package struct Settled: Sendable {
        package let stamp: String
        package let fileID: FileID
    }

    /// Returns those of the originals whose files need no attention. Their rows can be read, were created by this
    /// database, are on the storage, contain the recorded bytes, and have no pending or failed upload.
    package static func settled(_ ids: some Collection<SourceID>, _ db: Database) throws -> [SourceID: Settled] {
        if ids.isEmpty { return [:] }
        // The text is built directly, because it has hundreds of marks and is needed for many statements.
        let marks = String(repeating: "?,", count: ids.count - 1) + "?"
        let sql = """
            SELECT s.id, s.stamp, s.fileID FROM lfs_source s \(FileTable.joined(to: "s"))
            WHERE s.id IN (\(marks)) AND s.state = 'attached'
                AND typeof(s.stamp) = 'text' AND s.sha256 = f.sha256 AND s.byteCount = f.byteCount
                AND f.byteCount BETWEEN 0 AND \(FileRow.byteCounts.upperBound) AND typeof(f.byteCount) = 'integer'
                AND f.status = 'remote' AND \(StateTable.isOurs("f.key")) AND NOT \(JobTable.contains("f.id"))
                AND NOT (\(FileTable.isOdd("f")))
            """
        let rows = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: StatementArguments(ids))
        var settled: [SourceID: Settled] = Dictionary(minimumCapacity: ids.count)
        while let row = try rows.next() {
            guard let id = SourceID.fromDatabaseValue(row[0]), let fileID = FileID.fromDatabaseValue(row[2]) else {
                continue
            }
            settled[id] = Settled(stamp: row[1], fileID: fileID)
        }
        return settled
    }

    /// Calls the body with all readable rows, in no particular order.
    package static func forEach(_ db: Database, _ body: (SourceRow) throws -> Void) throws {
        let rows = try RowResult<SourceRow>.fetchCursor(db, sql: "SELECT * FROM lfs_source")
        while let row = try rows.next() {
            if let row = row.readable { try body(row) }
        }
    }

    /// Returns the number of originals in a state.
    package static func count(_ state: SourceRow.State, _ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM lfs_source WHERE state = ?", arguments: [state.rawValue]) ?? 0
    }

    /// Saves the result of reading an original, and replaces an earlier one.
    package static func save(_ row: SourceRow, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO lfs_source (id, stamp, byteCount, sha256, fileID, state)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                ON CONFLICT (id) DO UPDATE SET stamp = ?2, byteCount = ?3, sha256 = ?4, fileID = ?5, state = ?6
                """
        ).execute(arguments: [row.id, row.stamp, row.byteCount, row.sha256, row.fileID, row.state.rawValue])
    }

    /// Records that an original must not be uploaded again: its record was deleted, and its file stays for another
    /// record.
    ///
    /// - Returns: true if the original was known and not declined before.
    package static func decline(_ id: SourceID, _ db: Database) throws -> Bool {
        let sql = "UPDATE lfs_source SET state = 'declined' WHERE id = ? AND state <> 'declined'"
        try db.cachedStatement(sql: sql).execute(arguments: [id])
        return db.changesCount > 0
    }

    /// Removes the row of an original, so that the original is read again. Returns true if it was known.
    package static func remove(_ id: SourceID, _ db: Database) throws -> Bool {
        try db.cachedStatement(sql: "DELETE FROM lfs_source WHERE id = ?").execute(arguments: [id])
        return db.changesCount > 0
    }

    static func removeAll(_ db: Database) throws { try db.execute(sql: "DELETE FROM lfs_source") }
}

/// A row of `lfs_source`.
package struct SourceRow: Hashable, Sendable, FetchableRecord {
    package enum State: String, Sendable {
        /// The original has a file.
        case attached
        /// The original's file, or its record, was deleted on purpose.
        case declined
    }

    package var id: SourceID
    package var stamp: String
    package var byteCount: Int64
    package var sha256: String
    package var fileID: FileID?
    package var state: State

    package init(
        id: SourceID, stamp: String, byteCount: Int64, sha256: String, fileID: FileID?, state: State = .attached
    ) {
        self.id = id
        self.stamp = stamp
        self.byteCount = byteCount
        self.sha256 = sha256
        self.fileID = fileID
        self.state = state
    }

    package init(row: Row) throws {
        let checked = CheckedRow(row, of: SourceTable.name)
        id = try checked.value("id")
        stamp = try checked.value("stamp")
        byteCount = try checked.number("byteCount", in: FileRow.byteCounts)
        sha256 = try checked.value("sha256")
        fileID = try checked.value("fileID")
        guard let state = State(rawValue: try checked.value("state")) else { throw checked.invalid("state") }
        self.state = state
    }
}

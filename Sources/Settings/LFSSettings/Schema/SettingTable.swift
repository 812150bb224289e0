import Foundation
import GRDB
import LFSDatabase
import LFSSystem

/// `lfs_setting`: the values of the domain `.database`, by the names of their keys.
enum SettingTable {
    static let name = "lfs_setting"

    // MARK: Reading

    /// Returns the row of a key, which may record that its value was removed.
    static func row(_ name: String, _ db: Database) throws -> SettingRow? {
        let sql = "SELECT \(SettingRow.columns) FROM main.lfs_setting WHERE name = ?"
        return try Row.fetchOne(try db.cachedStatement(sql: sql), arguments: [name]).flatMap(SettingRow.init)
    }

    /// Reads a value for `get`. ``ValueAccess`` calls it on a reader of the database, and ``SettingsBatch`` within the
    /// app's transaction.
    ///
    /// - Throws: ``SettingsError/Code/corrupted`` when another program has written an invalid row.
    static func read(_ name: String, _ db: Database) throws -> StoredValue? { try row(name, db)?.value.get() }

    /// Passes the rows to a closure, one at a time, in the order of their names.
    static func forEachRow(_ db: Database, _ body: (SettingRow) throws -> Void) throws {
        let rows = try Row.fetchCursor(db, sql: "SELECT \(SettingRow.columns) FROM main.lfs_setting ORDER BY name")
        while let row = try rows.next() {
            if let row = SettingRow(row) { try body(row) }
        }
    }

    /// Returns all values for a snapshot or an audit, with the errors of those that cannot be read.
    static func values(_ db: Database) throws -> [String: Result<StoredValue, SettingsError>] {
        var values: [String: Result<StoredValue, SettingsError>] = [:]
        try forEachRow(db) { row in
            switch row.value {
            case .success(let value): values[row.name] = value.map { .success($0) }
            case .failure(let error): values[row.name] = .failure(error)
            }
        }
        return values
    }

    /// Returns the names in the given rows, including those of removed values.
    static func names(ofRows rowIDs: some Collection<Int64>, _ db: Database) throws -> [String] {
        let statement: Statement
        if rowIDs.count == 1 {
            statement = try db.cachedStatement(sql: "SELECT name FROM main.lfs_setting WHERE rowid = ?")
        } else {
            let marks = databaseQuestionMarks(count: rowIDs.count)
            statement = try db.makeStatement(sql: "SELECT name FROM main.lfs_setting WHERE rowid IN (\(marks))")
        }
        let values = try DatabaseValue.fetchAll(statement, arguments: StatementArguments(rowIDs))
        return values.compactMap(String.fromDatabaseValue)
    }

    // MARK: Writing

    /// The time of a write, which decides between the values of two devices.
    enum Time: Sendable {
        case now
        /// The earliest time, for a value of an earlier version of the app. Any value that was set since then wins.
        case before
    }

    /// Stores a value in a row. A value of an earlier version does not restore a key that the app removed.
    static func write(_ name: String, value: StoredValue, time: Time, _ db: Database) throws {
        if case .before = time, try isRemovedOnPurpose(name, db) { return }
        try put(name, value: value, id: try id(after: name, time, now: value.updatedAt, db), db)
    }

    private static let putSQL = """
        INSERT INTO main.lfs_setting (name, value, serializer, version, updateID, updatedAt, isRemoved, isTaken)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7)
        ON CONFLICT (name) DO UPDATE SET
            value = excluded.value, serializer = excluded.serializer, version = excluded.version,
            updateID = excluded.updateID, updatedAt = excluded.updatedAt, isRemoved = 0, isTaken = excluded.isTaken
        """

    /// - Parameter isTaken: true for a value of another device.
    private static func put(
        _ name: String, value: StoredValue, id: FileID, isTaken: Bool = false, _ db: Database
    ) throws {
        let content = value.content
        // GRDB stores empty data as an empty blob, which is not NULL.
        try db.cachedStatement(sql: putSQL).execute(arguments: [
            name, content.bytes, content.serializer, content.version, id.text, value.updatedAt, isTaken,
        ])
    }

    /// Returns an id of this time that is later than that of the row, which may come from another device or from a
    /// clock that was ahead.
    private static func id(after name: String, _ time: Time, now: Int64, _ db: Database) throws -> FileID {
        let (last, date) = (try row(name, db)?.updateID, Date(millisecondsSince1970: now))
        return switch time {
        case .now: last.map { FileID.make(at: date, after: $0) } ?? FileID.make(at: date)
        case .before: last.map { FileID.make(after: $0) } ?? FileID.makeEarliest()
        }
    }

    /// Replaces the bytes of a row. Its time and its id stay.
    static func replace(_ name: String, with bytes: Data, _ db: Database) throws {
        try db.execute(sql: "UPDATE main.lfs_setting SET value = ? WHERE name = ?", arguments: [bytes, name])
    }

    /// The serializer column's content for a value that a step of a catalog removed. A later step may set it again.
    static let removedByStep = "step"

    /// - Parameter keepsNote: keeps a row that records the removal for other devices, even if no value is stored.
    ///   Another device may have set an earlier value that has not arrived yet.
    static func remove(_ name: String, keepsNote: Bool, now: Int64, time: Time, _ db: Database) throws {
        guard keepsNote else {
            return try db.cachedStatement(sql: "DELETE FROM main.lfs_setting WHERE name = ?")
                .execute(arguments: [name])
        }
        let id = try id(after: name, time, now: now, db)
        switch time {
        case .now: try noteRemoved(name, id: id, now: now, isTaken: false, db)
        case .before:
            // Without a value on this device, the values of other devices win anyway.
            let sql = """
                UPDATE main.lfs_setting
                SET value = x'', serializer = ?4, updateID = ?2, updatedAt = ?3, isRemoved = 1, isTaken = 0
                WHERE name = ?1 AND isRemoved = 0
                """
            try db.cachedStatement(sql: sql).execute(arguments: [name, id.text, now, removedByStep])
        }
    }

    private static func noteRemoved(
        _ name: String, id: FileID, now: Int64, isTaken: Bool, _ db: Database
    ) throws {
        let sql = """
            INSERT INTO main.lfs_setting (name, value, serializer, version, updateID, updatedAt, isRemoved, isTaken)
            VALUES (?1, x'', '', 0, ?2, ?3, 1, ?4)
            ON CONFLICT (name) DO UPDATE SET
                value = x'', serializer = '', updateID = ?2, updatedAt = ?3, isRemoved = 1, isTaken = ?4
            """
        try db.cachedStatement(sql: sql).execute(arguments: [name, id.text, now, isTaken])
    }

    /// Returns true if the row records that the app removed the value, on this or another device.
    static func isRemovedOnPurpose(_ name: String, _ db: Database) throws -> Bool {
        try row(name, db).map { $0.isRemoved && !$0.isRemovedByStep } ?? false
    }

    // MARK: Syncing

    /// Replaces the row by the value of another device.
    ///
    /// - Parameter value: nil for a removed value.
    static func take(_ name: String, value: StoredValue?, id: FileID, now: Int64, _ db: Database) throws {
        if let value {
            try put(name, value: value, id: id, isTaken: true, db)
        } else {
            try noteRemoved(name, id: id, now: now, isTaken: true, db)
        }
    }

    static func restamp(_ name: String, from id: FileID, to new: FileID, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE main.lfs_setting SET updateID = ? WHERE name = ? AND updateID = ?",
            arguments: [new.text, name, id.text])
    }

    /// Deletes the record of a removal, if it is unchanged.
    static func forgetRemoval(_ name: String, id: FileID, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM main.lfs_setting WHERE name = ? AND updateID = ? AND isRemoved = 1")
            .execute(arguments: [name, id.text])
    }

    static func removeAll(_ db: Database) throws { try db.execute(sql: "DELETE FROM main.lfs_setting") }
}

/// A row of `lfs_setting`. Another program may have written it, so it is untrusted input.
struct SettingRow: Sendable {
    static let columns = "name, value, serializer, version, updateID, updatedAt, isRemoved, isTaken"

    let name: String
    /// Nil for a removed value. ``SettingsError/Code/corrupted`` if another program has written it.
    let value: Result<StoredValue?, SettingsError>
    /// The id of the update. Nil if another program has written it. Any other id counts as later then.
    let updateID: FileID?
    /// Milliseconds since 1970.
    let updatedAt: Int64
    let isRemoved: Bool
    /// True for the removal by a step of a catalog. A later step may set the value again.
    let isRemovedByStep: Bool
    /// True if another device set the value.
    let isTaken: Bool

    /// - Parameter row: has the columns of ``columns``.
    /// - Returns: nil for a row whose name is not text.
    init?(_ row: Row) {
        guard let name = String.fromDatabaseValue(row[0]) else { return nil }
        let serializer = String.fromDatabaseValue(row[2])
        self.name = name
        updateID = FileID.fromDatabaseValue(row[4]).flatMap { $0.bits.isVersion7 ? $0 : nil }
        updatedAt = Int64.fromDatabaseValue(row[5]) ?? 0
        isRemoved = Bool.fromDatabaseValue(row[6]) ?? false
        isRemovedByStep = isRemoved && serializer == SettingTable.removedByStep
        isTaken = Bool.fromDatabaseValue(row[7]) ?? false
        if isRemoved {
            value = .success(nil)
        } else if case .blob(let bytes) = (row[1] as DatabaseValue).storage, let serializer,
            let version = Int.fromDatabaseValue(row[3]), let time = Int64.fromDatabaseValue(row[5])
        {
            let content = SerializedValue(serializer: serializer, version: version, bytes: bytes)
            value = .success(StoredValue(content, updatedAt: time))
        } else {
            value = .failure(Self.damaged)
        }
    }

    private static var damaged: SettingsError {
        SettingsError(
            .corrupted,
            message: """
                The row of the key in lfs_setting cannot be read, because another program has written it. It is left \
                unchanged. Set or remove the key to repair it.
                """)
    }
}

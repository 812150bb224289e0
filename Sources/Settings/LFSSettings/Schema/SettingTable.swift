import Foundation
import GRDB
import LFSSystem

/// `lfs_setting`: the values of the domain `.database`, by the names of their keys.
enum SettingTable {
    static let name = "lfs_setting"

    /// The columns that make up a value. They come before any others.
    private static let valueColumns = "value, serializer, version, updatedAt"

    // MARK: Reading

    /// Reads a value for `get`. ``ValueAccess`` calls it on a reader of the database, and ``SettingsBatch`` within the
    /// app's transaction.
    ///
    /// - Throws: ``SettingsError/Code/corrupted`` when another program has written an invalid row.
    static func read(_ name: String, _ db: Database) throws -> StoredValue? {
        let sql = "SELECT \(valueColumns) FROM main.lfs_setting WHERE name = ? AND isRemoved = 0"
        guard let row = try Row.fetchOne(try db.cachedStatement(sql: sql), arguments: [name]) else { return nil }
        return try value(row)
    }

    static func contains(_ name: String, _ db: Database) throws -> Bool {
        try exists("name = ? AND isRemoved = 0", arguments: [name], db)
    }

    private static func exists(_ condition: String, arguments: StatementArguments, _ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM main.lfs_setting WHERE \(condition))"
        return try Bool.fetchOne(try db.cachedStatement(sql: sql), arguments: arguments) ?? false
    }

    /// Returns all values for a snapshot, with the errors of those that cannot be read.
    static func readAll(_ db: Database) throws -> [String: Result<StoredValue, SettingsError>] {
        let sql = "SELECT \(valueColumns), name FROM main.lfs_setting WHERE isRemoved = 0"
        var values: [String: Result<StoredValue, SettingsError>] = [:]
        let rows = try Row.fetchCursor(db, sql: sql)
        while let row = try rows.next() {
            guard let name = String.fromDatabaseValue(row["name"]) else { continue }
            do throws(SettingsError) { values[name] = .success(try value(row)) } catch {
                values[name] = .failure(error)
            }
        }
        return values
    }

    static func names(_ db: Database) throws -> [String] {
        let values = try DatabaseValue.fetchAll(
            db, sql: "SELECT name FROM main.lfs_setting WHERE isRemoved = 0 ORDER BY name")
        return values.compactMap(String.fromDatabaseValue)
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

    static func summaries(_ db: Database) throws -> [StoredSummary] {
        let sql = """
            SELECT name, length(value) AS byteCount, version, updatedAt FROM main.lfs_setting
            WHERE isRemoved = 0 ORDER BY name
            """
        return try Row.fetchAll(db, sql: sql).compactMap { row in
            guard let name = String.fromDatabaseValue(row["name"]) else { return nil }
            return StoredSummary(
                name: name, byteCount: Int.fromDatabaseValue(row["byteCount"]) ?? 0,
                serializerVersion: Int.fromDatabaseValue(row["version"]) ?? 0,
                updatedAt: Int64.fromDatabaseValue(row["updatedAt"]) ?? 0)
        }
    }

    /// Returns one page of rows after a name, to process all rows in parts.
    static func page(after name: String, limit: Int, _ db: Database) throws -> [(name: String, bytes: Data)] {
        let sql = "SELECT name, value FROM main.lfs_setting WHERE name > ? AND isRemoved = 0 ORDER BY name LIMIT ?"
        return try Row.fetchAll(db, sql: sql, arguments: [name, limit]).compactMap { row in
            guard let name = String.fromDatabaseValue(row["name"]) else { return nil }
            return (name, Data.fromDatabaseValue(row["value"]) ?? Data())
        }
    }

    private static func value(_ row: Row) throws(SettingsError) -> StoredValue {
        guard case .blob(let bytes) = (row[0] as DatabaseValue).storage,
            let serializer = String.fromDatabaseValue(row[1]), let version = Int.fromDatabaseValue(row[2]),
            let updatedAt = Int64.fromDatabaseValue(row[3])
        else {
            throw SettingsError(
                .corrupted,
                message: """
                    The row of the key in lfs_setting cannot be read, because another program has written it. It is \
                    left unchanged. Set or remove the key to repair it.
                    """)
        }
        return StoredValue(
            SerializedValue(serializer: serializer, version: version, bytes: bytes), updatedAt: updatedAt)
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
        let id = newID(time, now: value.updatedAt)
        if try put(name, value: value, id: id, isForced: false, db) { return }
        // The row's id is later: it comes from another device, or from a clock that was ahead.
        let later = try self.id(after: name, time, now: value.updatedAt, db)
        try put(name, value: value, id: later, db)
    }

    private static let putSQL = """
        INSERT INTO main.lfs_setting (name, value, serializer, version, updateID, updatedAt, isRemoved, isTaken)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7)
        ON CONFLICT (name) DO UPDATE SET
            value = excluded.value, serializer = excluded.serializer, version = excluded.version,
            updateID = excluded.updateID, updatedAt = excluded.updatedAt, isRemoved = 0, isTaken = excluded.isTaken
        WHERE ?8 OR updateID < excluded.updateID
        """

    /// - Parameters:
    ///   - isTaken: true for a value of another device.
    ///   - isForced: false to change nothing if the row has a later id.
    /// - Returns: true if the row has the value now.
    @discardableResult
    private static func put(
        _ name: String, value: StoredValue, id: FileID, isTaken: Bool = false, isForced: Bool = true, _ db: Database
    ) throws -> Bool {
        let content = value.content
        // GRDB stores empty data as an empty blob, which is not NULL.
        try db.cachedStatement(sql: putSQL).execute(arguments: [
            name, content.bytes, content.serializer, content.version, id.text, value.updatedAt, isTaken, isForced,
        ])
        return db.changesCount > 0
    }

    private static func newID(_ time: Time, now: Int64) -> FileID {
        switch time {
        case .now: FileID.make(at: Date(millisecondsSince1970: now))
        case .before: FileID.makeEarliest()
        }
    }

    private static func id(after name: String, _ time: Time, now: Int64, _ db: Database) throws -> FileID {
        guard let last = try updateID(of: name, db) else { return newID(time, now: now) }
        if case .before = time { return FileID.make(after: last) }
        return FileID.make(at: Date(millisecondsSince1970: now), after: last)
    }

    /// Returns nil for an id that another program has written.
    private static func updateID(_ value: DatabaseValue) -> FileID? {
        guard let id = FileID.fromDatabaseValue(value), id.bits.isVersion7 else { return nil }
        return id
    }

    /// Replaces the bytes of a row if they are unchanged.
    static func replace(_ name: String, bytes: Data, with newBytes: Data, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE main.lfs_setting SET value = ? WHERE name = ? AND value = ?",
            arguments: [newBytes, name, bytes])
    }

    /// The serializer column's content for a value that a step of a catalog removed. A later step may set it again.
    private static let removedByStep = "step"

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
        try exists("name = ? AND isRemoved = 1 AND serializer <> ?", arguments: [name, removedByStep], db)
    }

    // MARK: Syncing

    /// A row in the form that is published to other devices.
    struct SyncedRow: Sendable {
        let name: String
        /// The id of the update. Nil if another program has written it. Any other id counts as later then.
        let updateID: FileID?
        /// Nil for a removed value.
        let content: SerializedValue?
        let updatedAt: Int64
        /// True if another device set the value.
        let isTaken: Bool
    }

    private static let syncedColumns = valueColumns + ", name, updateID, isRemoved, isTaken"

    /// - Throws: ``SettingsError/Code/corrupted`` for an invalid value.
    static func syncedRow(_ name: String, _ db: Database) throws -> SyncedRow? {
        let sql = "SELECT \(syncedColumns) FROM main.lfs_setting WHERE name = ?"
        return try Row.fetchOne(try db.cachedStatement(sql: sql), arguments: [name]).map { row in
            try syncedRow(name, row: row)
        }
    }

    /// Passes the rows whose names match a condition to a closure, one at a time, in the order of their names.
    static func forEachSyncedRow(
        where isPicked: (String) -> Bool, _ db: Database,
        _ body: (String, Result<SyncedRow, SettingsError>) throws -> Void
    ) throws {
        let sql = "SELECT \(syncedColumns) FROM main.lfs_setting ORDER BY name"
        let rows = try Row.fetchCursor(db, sql: sql)
        while let row = try rows.next() {
            guard let name = String.fromDatabaseValue(row["name"]), isPicked(name) else { continue }
            try body(name, Result { () throws(SettingsError) in try syncedRow(name, row: row) })
        }
    }

    private static func syncedRow(_ name: String, row: Row) throws(SettingsError) -> SyncedRow {
        let isRemoved = Bool.fromDatabaseValue(row["isRemoved"]) ?? false
        return SyncedRow(
            name: name, updateID: updateID(row["updateID"]), content: isRemoved ? nil : try value(row).content,
            updatedAt: Int64.fromDatabaseValue(row["updatedAt"]) ?? 0,
            isTaken: Bool.fromDatabaseValue(row["isTaken"]) ?? false)
    }

    static func isRemoved(_ name: String, _ db: Database) throws -> Bool {
        try exists("name = ? AND isRemoved = 1", arguments: [name], db)
    }

    /// Returns nil without a row, or if another program has written the id. Any other id counts as later then.
    static func updateID(of name: String, _ db: Database) throws -> FileID? {
        let sql = "SELECT updateID FROM main.lfs_setting WHERE name = ?"
        return try DatabaseValue.fetchOne(try db.cachedStatement(sql: sql), arguments: [name]).flatMap(updateID)
    }

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

/// The information about a stored value for the audit.
struct StoredSummary: Sendable {
    let name: String
    let byteCount: Int
    let serializerVersion: Int?
    let updatedAt: Int64?
}

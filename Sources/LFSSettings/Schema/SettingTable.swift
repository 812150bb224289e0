import Foundation
import GRDB
import LFSSystem

/// `lfs_setting`: the values of the domain `.database`, by the names of their keys.
enum SettingTable {
    static let name = "lfs_setting"

    /// A row of the table, as far as the audit asks.
    struct Summary: Sendable {
        let name: String
        let byteCount: Int
        let serializer: String
        let version: Int
        let updatedAt: Int64
    }

    // MARK: Reading

    /// - Throws: ``SettingsError/Code/corrupted`` when another program has written something that no value is.
    static func read(_ name: String, _ db: Database) throws -> StoredValue? {
        let sql = "SELECT value, serializer, version, updatedAt FROM main.lfs_setting WHERE name = ? AND isRemoved = 0"
        guard let row = try Row.fetchOne(try db.cachedStatement(sql: sql), arguments: [name]) else { return nil }
        return try value(row)
    }

    static func contains(_ name: String, _ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM main.lfs_setting WHERE name = ? AND isRemoved = 0)"
        return try Bool.fetchOne(try db.cachedStatement(sql: sql), arguments: [name]) ?? false
    }

    /// All of them that can be read, for a snapshot, and the errors of the others.
    static func readAll(_ db: Database) throws -> [String: Result<StoredValue, SettingsError>] {
        let sql = "SELECT name, value, serializer, version, updatedAt FROM main.lfs_setting WHERE isRemoved = 0"
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

    /// The names in these rows, those of removed values too.
    static func names(ofRows rowIDs: some Collection<Int64>, _ db: Database) throws -> [String] {
        let marks = databaseQuestionMarks(count: rowIDs.count)
        let values = try DatabaseValue.fetchAll(
            db, sql: "SELECT name FROM main.lfs_setting WHERE rowid IN (\(marks))",
            arguments: StatementArguments(rowIDs))
        return values.compactMap(String.fromDatabaseValue)
    }

    static func summaries(_ db: Database) throws -> [Summary] {
        let sql = """
            SELECT name, length(value) AS byteCount, serializer, version, updatedAt FROM main.lfs_setting
            WHERE isRemoved = 0 ORDER BY name
            """
        return try Row.fetchAll(db, sql: sql).compactMap { row in
            guard let name = String.fromDatabaseValue(row["name"]) else { return nil }
            return Summary(
                name: name, byteCount: Int.fromDatabaseValue(row["byteCount"]) ?? 0,
                serializer: String.fromDatabaseValue(row["serializer"]) ?? "",
                version: Int.fromDatabaseValue(row["version"]) ?? 0,
                updatedAt: Int64.fromDatabaseValue(row["updatedAt"]) ?? 0)
        }
    }

    /// Rows after a name, a page at a time, for what goes through all of them.
    static func page(after name: String, limit: Int, _ db: Database) throws -> [(name: String, bytes: Data)] {
        let sql = "SELECT name, value FROM main.lfs_setting WHERE name > ? AND isRemoved = 0 ORDER BY name LIMIT ?"
        return try Row.fetchAll(db, sql: sql, arguments: [name, limit]).compactMap { row in
            guard let name = String.fromDatabaseValue(row["name"]) else { return nil }
            return (name, Data.fromDatabaseValue(row["value"]) ?? Data())
        }
    }

    private static func value(_ row: Row) throws(SettingsError) -> StoredValue {
        guard case .blob(let bytes) = (row["value"] as DatabaseValue).storage,
            let serializer = String.fromDatabaseValue(row["serializer"]),
            let version = Int.fromDatabaseValue(row["version"]),
            let updatedAt = Int64.fromDatabaseValue(row["updatedAt"])
        else {
            throw SettingsError(
                .corrupted,
                """
                The row of the key in lfs_setting cannot be read: another program has written it. It stays as it is: \
                set or remove the key to mend it.
                """)
        }
        return StoredValue(
            SerializedValue(serializer: serializer, version: version, bytes: bytes), updatedAt: updatedAt)
    }

    // MARK: Writing

    static func write(_ name: String, _ value: StoredValue, _ db: Database) throws {
        let sql = """
            INSERT INTO main.lfs_setting (name, value, serializer, version, updateID, updatedAt, isRemoved)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)
            ON CONFLICT (name) DO UPDATE SET
                value = ?2, serializer = ?3, version = ?4, updateID = ?5, updatedAt = ?6, isRemoved = 0
            """
        let content = value.content
        // GRDB stores empty data as an empty blob, which is not NULL.
        try db.cachedStatement(sql: sql).execute(arguments: [
            name, content.bytes, content.serializer, content.version, FileID.make().text, value.updatedAt,
        ])
    }

    /// Puts other bytes in the place of those of a row, if they are still these.
    static func replace(_ name: String, _ bytes: Data, with newBytes: Data, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE main.lfs_setting SET value = ? WHERE name = ? AND value = ?",
            arguments: [newBytes, name, bytes])
    }

    /// - Parameter keepsNote: leaves a row that says so, for other devices.
    /// - Returns: whether there was a value.
    @discardableResult
    static func remove(_ name: String, keepsNote: Bool, now: Int64, _ db: Database) throws -> Bool {
        if keepsNote {
            let sql = """
                UPDATE main.lfs_setting SET value = x'', updateID = ?2, updatedAt = ?3, isRemoved = 1
                WHERE name = ?1 AND isRemoved = 0
                """
            try db.cachedStatement(sql: sql).execute(arguments: [name, FileID.make().text, now])
        } else {
            try db.cachedStatement(sql: "DELETE FROM main.lfs_setting WHERE name = ?").execute(arguments: [name])
        }
        return db.changesCount > 0
    }

    static func removeAll(_ db: Database) throws { try db.execute(sql: "DELETE FROM main.lfs_setting") }
}

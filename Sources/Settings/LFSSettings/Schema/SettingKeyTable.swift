import Foundation
import GRDB
import LFSSystem

/// `lfs_setting_key`: the data keys, wrapped by the root key.
enum SettingKeyTable {
    struct WrappedKey: Sendable, Equatable {
        /// 32 lowercase hex digits.
        let id: String
        let wrapped: Data
        let isCurrent: Bool
    }

    /// Returns all keys. Invalid rows that another program has written are left out, so their keys count as missing.
    static func all(_ db: Database) throws -> [WrappedKey] {
        let sql = "SELECT id, wrapped, state FROM main.lfs_setting_key"
        var keys: [WrappedKey] = []
        let rows = try Row.fetchCursor(try db.cachedStatement(sql: sql))
        while let row = try rows.next() {
            guard let id = String.fromDatabaseValue(row[0]), let wrapped = Data.fromDatabaseValue(row[1]) else {
                continue
            }
            keys.append(
                WrappedKey(id: id, wrapped: wrapped, isCurrent: String.fromDatabaseValue(row[2]) == "current"))
        }
        return keys
    }

    static func isEmpty(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT NOT EXISTS (SELECT 1 FROM main.lfs_setting_key)") ?? true
    }

    static func add(_ id: String, wrapped: Data, now: Int64, _ db: Database) throws {
        try db.execute(sql: "UPDATE main.lfs_setting_key SET state = 'retired' WHERE state = 'current'")
        try db.execute(
            sql: "INSERT INTO main.lfs_setting_key (id, wrapped, state, createdAt) VALUES (?, ?, 'current', ?)",
            arguments: [id, wrapped, now])
    }

    /// - Returns: the number of deleted keys.
    static func removeRetired(_ db: Database) throws -> Int {
        try db.execute(sql: "DELETE FROM main.lfs_setting_key WHERE state = 'retired'")
        return db.changesCount
    }

    static func removeAll(_ db: Database) throws { try db.execute(sql: "DELETE FROM main.lfs_setting_key") }
}

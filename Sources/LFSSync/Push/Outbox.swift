import Foundation
import GRDB
import LFSWire

/// `lfs_sync_outbox`: local changes on their way up.
enum Outbox {
    /// Changes that were not answered yet, oldest first. Those that were never sent are frozen first: from here on they
    /// are the same each time they are sent, and later edits of their rows make others.
    ///
    /// - Returns: the mutations as lines.
    static func freeze(limit: Int, byteLimit: Int, _ tables: [String: SyncedTable], _ db: Database) throws -> [Frozen] {
        var frozen: [Frozen] = []
        var byteCount = 0
        let sql = """
            SELECT * FROM lfs_sync_outbox WHERE appliedAt IS NULL
            ORDER BY sequence IS NULL, sequence, id LIMIT ?
            """
        for row in try Row.fetchAll(db, sql: sql, arguments: [limit]) {
            let entry = try frozenEntry(row, tables, db)
            guard let entry else { continue }
            byteCount += entry.line.utf8.count
            if !frozen.isEmpty, byteCount > byteLimit { break }
            frozen.append(entry)
        }
        return frozen
    }

    /// A change as it is sent.
    struct Frozen: Sendable {
        let id: Int64
        let sequence: Int64
        let line: String
    }

    private static func frozenEntry(_ row: Row, _ tables: [String: SyncedTable], _ db: Database) throws -> Frozen? {
        let id: Int64 = row["id"]
        if let sequence: Int64 = row["sequence"], let line: String = row["mutation"] {
            return Frozen(id: id, sequence: sequence, line: line)
        }
        let (name, key): (String, String) = (row["tableName"], row["key"])
        guard let table = tables[name], let operation = SyncMutation.Operation(rawValue: row["operation"]) else {
            throw SyncError(.missingTable, "The table '\(name)' was shared and is not any more: install it again.")
        }
        guard let values = try values(of: key, table, operation, row, db) else {
            // The row has gone on a way that no trigger saw.
            try db.execute(sql: "DELETE FROM lfs_sync_outbox WHERE id = ?", arguments: [id])
            return nil
        }
        try db.execute(sql: "UPDATE lfs_sync_state SET sequence = sequence + 1")
        let sequence = try Int64.fetchOne(db, sql: "SELECT sequence FROM lfs_sync_state") ?? 1
        let mutation = SyncMutation(
            id: MutationID.make(), sequence: sequence, type: table.type, operation: operation, key: key,
            row: SyncRow(values))
        var bytes: [UInt8] = []
        mutation.write(to: &bytes)
        let line = String(decoding: bytes.dropLast(), as: UTF8.self)
        try db.execute(
            sql: "UPDATE lfs_sync_outbox SET sequence = ?, mutation = ? WHERE id = ?", arguments: [sequence, line, id])
        return Frozen(id: id, sequence: sequence, line: line)
    }

    /// What is sent of the row as it is now; nil when it is not there.
    private static func values(
        of key: String, _ table: SyncedTable, _ operation: SyncMutation.Operation, _ entry: Row, _ db: Database
    ) throws -> [String: SyncValue]? {
        guard operation != .delete else { return [:] }
        let sql = "SELECT * FROM \(table.name.quotedDatabaseIdentifier) WHERE id = ?"
        guard let row = try Row.fetchOne(db, sql: sql, arguments: [key]) else { return nil }
        let changed = Set(
            try String.fetchAll(db, sql: "SELECT key FROM json_each(?)", arguments: [entry["columns"] as String]))
        let columns = operation == .put ? table.columns : table.columns.filter(changed.contains)
        return try Dictionary(
            columns.map { ($0, try SyncValue(row[$0] as DatabaseValue)) }, uniquingKeysWith: { first, _ in first })
    }

    // MARK: What came of it

    /// - Parameter position: where the server has put it; nil when nothing had to change there.
    static func applied(_ sequence: Int64, at position: SyncPosition?, _ db: Database) throws {
        if let position {
            try db.execute(
                sql: "UPDATE lfs_sync_outbox SET appliedAt = ? WHERE sequence = ?",
                arguments: [position.text, sequence])
        } else {
            try db.execute(sql: "DELETE FROM lfs_sync_outbox WHERE sequence = ?", arguments: [sequence])
        }
    }

    /// Keeps what the server has refused, and what it said.
    static func rejected(_ sequence: Int64, _ failure: WireFailure, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO lfs_sync_rejection (tableName, key, mutation, code, message)
                SELECT tableName, key, mutation, ?, ? FROM lfs_sync_outbox WHERE sequence = ?
                """, arguments: [failure.code.rawValue, failure.message, sequence])
        try db.execute(sql: "DELETE FROM lfs_sync_outbox WHERE sequence = ?", arguments: [sequence])
    }

    /// What of a row an incoming line must not change: nil for all of it.
    ///
    /// - Parameter position: the line's. What the server has applied up to there is in it.
    static func spared(
        _ table: SyncedTable, _ key: String, at position: SyncPosition, _ db: Database
    ) throws -> Set<String>? {
        let delete = "DELETE FROM lfs_sync_outbox WHERE tableName = ? AND key = ? AND appliedAt <= ?"
        try db.cachedStatement(sql: delete).execute(arguments: [table.name, key, position.text])
        let select = "SELECT operation, columns FROM lfs_sync_outbox WHERE tableName = ? AND key = ?"
        let statement = try db.cachedStatement(sql: select)
        var spared: Set<String> = []
        for row in try Row.fetchAll(statement, arguments: [table.name, key]) {
            guard row["operation"] == "patch" else { return nil }
            spared.formUnion(
                try String.fetchAll(db, sql: "SELECT key FROM json_each(?)", arguments: [row["columns"] as String]))
        }
        return spared
    }

    static func count(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM lfs_sync_outbox WHERE appliedAt IS NULL") ?? 0
    }
}

extension SyncValue {
    /// - Throws: ``SyncError`` for a text that is none.
    init(_ value: DatabaseValue) throws {
        switch value.storage {
        case .null: self = .null
        case .int64(let value): self = .integer(value)
        case .double(let value): self = .real(value)
        case .string(let text): self = .text(text)
        case .blob(let data): self = .blob(Array(data))
        }
    }

    var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let value): value.databaseValue
        case .real(let value): value.databaseValue
        case .text(let text): text.databaseValue
        case .blob(let blob): Data(blob).databaseValue
        }
    }
}

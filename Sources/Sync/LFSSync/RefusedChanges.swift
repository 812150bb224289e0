import Foundation
import GRDB
import LFSWire

/// A writer that makes refused changes again, as if the user repeated them.
struct RefusedChanges: Sendable {
    let tables: [SyncedTable]

    /// Makes the refused changes of a row again, in their order.
    ///
    /// - Returns: the number of changes. A partial change of a deleted row stays refused.
    func makeAgain(table name: String, key: String, _ db: Database) throws -> Int {
        guard let table = tables.first(where: { $0.name == name }) else { return 0 }
        let refused = try Row.fetchAll(
            db, sql: "SELECT id, mutation FROM lfs_sync_rejection WHERE tableName = ? AND key = ? ORDER BY id",
            arguments: [name, key])
        var count = 0
        for row in refused where try make(Change(row["mutation"]), of: key, table: table, db) {
            try db.execute(sql: "DELETE FROM lfs_sync_rejection WHERE id = ?", arguments: [row["id"]])
            count += 1
        }
        return count
    }

    private func make(_ change: Change, of key: String, table: SyncedTable, _ db: Database) throws -> Bool {
        let name = table.name.quotedDatabaseIdentifier
        let isThere =
            try Bool.fetchOne(
                db, sql: "SELECT EXISTS (SELECT 1 FROM \(name) WHERE id = ?)", arguments: [key]) ?? false
        let columns = table.columns.filter { change.row[$0] != nil }
        let values = columns.map { change.row[$0]?.databaseValue ?? .null }
        switch change.operation {
        case .delete:
            try db.execute(sql: "DELETE FROM \(name) WHERE id = ?", arguments: [key])
            if !isThere { try queue(.delete, columns: [], of: key, table: table, db) }
        case .put where !isThere, .patch where !isThere:
            // A change that was lost with its row has all columns, whichever of them had changed.
            guard !columns.isEmpty, columns.count == table.columns.count else { return false }
            try db.execute(
                sql: RowApply.insert(into: name, columns), arguments: StatementArguments([key.databaseValue] + values))
            try queue(.put, columns: [], of: key, table: table, db)
        case .put, .patch:
            if !columns.isEmpty {
                let changes = columns.map { "\($0.quotedDatabaseIdentifier) = ?" }.joined(separator: ", ")
                try db.execute(
                    sql: "UPDATE \(name) SET \(changes) WHERE id = ?",
                    arguments: StatementArguments(values + [key.databaseValue]))
            }
            try queue(change.operation, columns: columns, of: key, table: table, db)
        }
        return true
    }

    /// Queues a change even if it changes nothing on this device. The server may lack values that this device already
    /// has.
    private func queue(
        _ operation: SyncMutation.Operation, columns: [String], of key: String, table: SyncedTable, _ db: Database
    ) throws {
        let open = "tableName = :table AND key = :key AND sequence IS NULL"
        let changed = String(decoding: try JSONEncoder().encode(columns), as: UTF8.self)
        let names = "(SELECT json_group_object(value, 1) FROM json_each(:changed))"
        let arguments: StatementArguments = [
            "table": table.name, "key": key, "operation": operation.rawValue, "changed": changed,
        ]
        try db.execute(
            sql: """
                INSERT INTO lfs_sync_outbox (tableName, key, operation, isKnown, base, after)
                SELECT :table, :key, :operation, 1, \(CaptureTriggers(table).seen(ofKey: ":key"))
                WHERE NOT EXISTS (SELECT 1 FROM lfs_sync_outbox WHERE \(open))
                """, arguments: arguments)
        try db.execute(
            sql: """
                UPDATE lfs_sync_outbox
                SET operation = CASE WHEN operation = 'patch' THEN :operation ELSE operation END,
                    columns = CASE WHEN operation = 'patch' AND :operation = 'patch'
                        THEN json_patch(columns, \(names)) ELSE '{}' END
                WHERE \(open)
                """, arguments: arguments)
    }

    /// A refused change as stored on this device.
    private struct Change {
        /// A put of the whole row if the change was never sent.
        var operation = SyncMutation.Operation.put
        var row = SyncRow()

        init(_ text: String) throws {
            if text.isEmpty { return }
            var operation = SyncMutation.Operation.put
            var row = SyncRow()
            try StoredJSON.read(text, of: "lfs_sync_rejection") { scanner in
                try scanner.object { scanner, name in
                    switch name {
                    case "op": operation = SyncMutation.Operation(rawValue: try scanner.text()) ?? .put
                    case "data": row = try SyncRow(&scanner)
                    default: try scanner.skip()
                    }
                }
            }
            self.operation = operation
            self.row = row
        }
    }
}

import GRDB
import LFSWire

/// Changes that wait because the server lacks a column or table of this app, or because they exceed a limit of the
/// account. An app may be newer than its server. The changes stay open, and are sent once the reason no longer applies.
extension Outbox {
    /// An SQL condition for entries that can be sent. A deletion needs the table, but none of the columns and no room.
    static let isDue = "(waits IS NULL OR (operation = 'delete' AND (waits LIKE '%.%' OR \(isOverQuota))))"
    private static let isOverQuota = "waits LIKE '\(SyncQuotaError.mark)%'"

    /// Returns the columns (`table.column`) and tables that the server lacks for waiting changes. Empty in a database
    /// whose migrations have not run yet.
    static func lacks(_ db: Database) throws -> [String] {
        try reasons(db).filter(isLack)
    }

    /// Returns false for a reason that is a limit of the account.
    static func isLack(_ reason: String) -> Bool { SyncQuotaError(waits: reason) == nil }

    /// Returns all reasons why changes wait. Empty in a database whose migrations have not run yet.
    static func reasons(_ db: Database) throws -> [String] {
        guard try db.columns(in: "lfs_sync_outbox").contains(where: { $0.name == "waits" }) else { return [] }
        return try String.fetchAll(
            db.cachedStatement(
                sql: "SELECT DISTINCT waits FROM lfs_sync_outbox WHERE waits IS NOT NULL ORDER BY waits"))
    }

    /// Returns the column or table that the server lacks for a change, or nil if none is known to be missing.
    ///
    /// - Parameters:
    ///   - values: the values of the change. Empty for a deletion.
    ///   - lacks: the columns and tables that are known to be missing.
    static func lack(
        of table: SyncedTable, _ values: [String: SyncValue], lacks: Set<String>, _ db: Database
    ) throws -> String? {
        if lacks.isEmpty { return nil }
        if lacks.contains(table.name) { return table.name }
        if let column = values.keys.sorted().first(where: { lacks.contains("\(table.name).\($0)") }) {
            return "\(table.name).\(column)"
        }
        return try lack(ofParentsOf: table, values, db)
    }

    /// Returns the column or table that the server lacks according to its refusal, or the exceeded limit. Nil if the
    /// refusal is final.
    static func lack(
        in failure: WireFailure, of sent: Sent, _ table: SyncedTable, _ db: Database
    ) throws -> String? {
        switch failure.code {
        case .unknownType: return table.name
        case .quotaExceeded: return SyncQuotaError(failure)?.waits
        case .unknownColumn, .invalidRequest:
            // All servers so far use this text. Older servers have no code for this refusal.
            let starts = table.types.map { "'\($0)' has no column '" }
            guard let start = starts.first(where: failure.message.hasPrefix) else { return nil }
            let column = failure.message.dropFirst(start.count).prefix { $0 != "'" }
            return table.columns.contains(String(column)) ? "\(table.name).\(column)" : nil
        case .missing:
            // The row, or a row that it refers to, waits as well.
            let sql = "SELECT waits FROM lfs_sync_outbox WHERE tableName = ? AND key = ? AND waits IS NOT NULL"
            let own = try String.fetchOne(db.cachedStatement(sql: sql), arguments: [table.name, sent.key])
            if let own { return own }
            let row = try Row.fetchOne(
                db.cachedStatement(sql: "SELECT * FROM \(table.name.quotedDatabaseIdentifier) WHERE id = ?"),
                arguments: [sent.key])
            guard let row else { return nil }
            var values: [String: SyncValue] = [:]
            for column in table.columns { values[column] = SyncValue(row[column] as DatabaseValue) }
            return try lack(ofParentsOf: table, values, db)
        default: return nil
        }
    }

    private static func lack(
        ofParentsOf table: SyncedTable, _ values: [String: SyncValue], _ db: Database
    ) throws -> String? {
        let sql = """
            SELECT waits FROM lfs_sync_outbox
            WHERE tableName = ? AND key = ? AND waits IS NOT NULL AND operation = 'put'
            """
        for parent in try db.foreignKeys(on: table.name) where parent.mapping.count == 1 {
            guard let column = parent.mapping.first?.origin, case .text(let key)? = values[column] else { continue }
            let waits = try String.fetchOne(
                db.cachedStatement(sql: sql), arguments: [parent.destinationTable, key])
            if let waits { return waits }
        }
        return nil
    }

    /// Makes an entry wait.
    ///
    /// - Parameter id: the id of the entry.
    static func wait(_ id: Int64, for lack: String, _ db: Database) throws {
        let sql = "UPDATE lfs_sync_outbox SET waits = ?, sequence = NULL, mutation = NULL WHERE id = ?"
        try db.cachedStatement(sql: sql).execute(arguments: [lack, id])
    }

    /// Makes a refused change wait. Later changes of its row are merged into it.
    static func wait(forAnswered sequence: Int64, _ lack: String, _ db: Database) throws {
        let sql = "SELECT id, tableName, key FROM lfs_sync_outbox WHERE \(unanswered)"
        guard let found = try Row.fetchOne(db.cachedStatement(sql: sql), arguments: [sequence]) else { return }
        try wait(found["id"], for: lack, db)
        let entries = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT id, operation, columns FROM lfs_sync_outbox
                    WHERE tableName = ? AND key = ? AND sequence IS NULL AND appliedAt IS NULL ORDER BY id
                    """), arguments: [found["tableName"], found["key"]])
        guard entries.count > 1, let first = entries.first else { return }
        try combine(entries, isKnown: false, db)
        try wait(first["id"], for: lack, db)
    }

    /// Releases the changes that waited for columns or tables that the server has now.
    static func release(_ lacks: [String], _ db: Database) throws {
        for lack in lacks {
            try db.cachedStatement(sql: "UPDATE lfs_sync_outbox SET waits = NULL WHERE waits = ?").execute(
                arguments: [lack])
        }
    }

    /// Releases the oldest changes that exceed a limit of the account.
    ///
    /// - Returns: the number of released changes.
    static func releaseOverQuota(_ limit: Int, _ db: Database) throws -> Int {
        try db.cachedStatement(
            sql: """
                UPDATE lfs_sync_outbox SET waits = NULL
                WHERE id IN (SELECT id FROM lfs_sync_outbox WHERE \(isOverQuota) ORDER BY id LIMIT ?)
                """
        ).execute(arguments: [limit])
        return db.changesCount
    }

    /// Returns the newest rows with a waiting change.
    static func waiting(_ limit: Int, _ db: Database) throws -> [SyncProblem] {
        guard try !reasons(db).isEmpty else { return [] }
        let sql = """
            SELECT tableName, CASE typeof(key) WHEN 'blob' THEN hex(key) ELSE key END, waits FROM lfs_sync_outbox
            WHERE waits IS NOT NULL ORDER BY id DESC LIMIT ?
            """
        return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [limit]).map { row in
            let waits: String = row[2]
            let reason =
                SyncQuotaError(waits: waits)?.description
                ?? "The server lacks '\(waits)'. The change is sent once the server has it."
            return SyncProblem(kind: .waiting, table: row[0], id: row[1], reason: reason)
        }
    }
}

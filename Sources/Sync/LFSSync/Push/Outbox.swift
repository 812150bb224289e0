import Foundation
import GRDB
import LFSWire

/// The tables `lfs_sync_outbox` and `lfs_sync_rejection` of local changes to be sent and of changes that the server has
/// refused.
///
/// An entry is open until it is frozen. A frozen entry has a sequence number and is sent with the same content each
/// time. Later edits of its row create another entry. An entry stays until the stream has brought the row at the
/// position where the server has applied the change.
enum Outbox {
    /// A frozen change in the form that is sent.
    struct Frozen: Sendable {
        let sequence: Int64
        let line: String
        let isDeletion: Bool
    }

    /// A frozen change that the server has answered.
    struct Sent {
        let table: String
        let key: String
        let operation: SyncMutation.Operation?
        /// The incoming change of the row that arrived in the meantime, or nil.
        let came: IncomingChange?
        /// True if the server may have had the row before the change.
        var isKnown = false
    }

    // MARK: Before sending

    /// Returns the changes to send next: first those without an answer, then new ones. New changes of parent tables
    /// come before those of child tables. Deletions come last, child tables first.
    ///
    /// - Parameter own: the scope of the account's own rows, or nil before it is known.
    static func freeze(
        limit: Int, byteLimit: Int, _ tables: [SyncedTable], of own: SyncScope?, _ db: Database
    ) throws -> [Frozen] {
        var frozen: [Frozen] = []
        let sent = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT sequence, mutation, operation = 'delete' FROM lfs_sync_outbox
                    WHERE sequence IS NOT NULL AND appliedAt IS NULL AND mutation IS NOT NULL
                    ORDER BY sequence LIMIT ?
                    """), arguments: [limit])
        for row in sent {
            frozen.append(Frozen(sequence: row["sequence"], line: row["mutation"], isDeletion: row[2]))
        }
        var byteCount = frozen.reduce(0) { $0 + $1.line.utf8.count }
        let last = try Int64.fetchOne(db.cachedStatement(sql: "SELECT sequence FROM lfs_sync_state")) ?? 0
        // The stored number is untrusted. No server accepts a larger number.
        var next = min(last, WireFormat.largestNumber) + 1
        let lacks = try Set(reasons(db))
        let groups = tables.map { ($0, false) } + tables.reversed().map { ($0, true) }
        for (table, isDeleted) in groups {
            while frozen.count < limit, byteCount < byteLimit {
                let rows = try Row.fetchAll(
                    db.cachedStatement(
                        sql: """
                            SELECT id, key, operation, columns, base, after,
                                typeof(key) = 'text' AS isText, length(CAST(key AS BLOB)) AS keyLength
                            FROM lfs_sync_outbox
                            WHERE sequence IS NULL AND tableName = ? AND (operation = 'delete') = ? AND \(isDue)
                            ORDER BY id LIMIT 50
                            """), arguments: [table.name, isDeleted])
                if rows.isEmpty { break }
                for row in rows where frozen.count < limit && byteCount < byteLimit {
                    guard let entry = try freeze(row, table: table, of: own, as: next, lacks: lacks, db) else {
                        continue
                    }
                    next += 1
                    byteCount += entry.line.utf8.count
                    frozen.append(entry)
                }
            }
        }
        try db.cachedStatement(sql: "UPDATE lfs_sync_state SET sequence = ?").execute(arguments: [next - 1])
        // The remaining entries belong to none of the tables.
        if frozen.isEmpty { try requireNone(db) }
        return bounded(frozen, byteLimit: byteLimit)
    }

    /// Returns as many changes as fit into one request, and at least one.
    private static func bounded(_ frozen: [Frozen], byteLimit: Int) -> [Frozen] {
        var byteCount = 0
        let count = frozen.prefix { entry in
            byteCount += entry.line.utf8.count + 1
            return byteCount <= byteLimit
        }.count
        return Array(frozen.prefix(max(count, 1)))
    }

    private static func requireNone(_ db: Database) throws {
        let sql = "SELECT tableName FROM lfs_sync_outbox WHERE sequence IS NULL AND \(isDue) LIMIT 1"
        if let name = try String.fetchOne(db.cachedStatement(sql: sql)) {
            throw SyncError(
                .missingTable,
                message: "The table '\(name)' was synced before and is not installed any more. Install it again.")
        }
    }

    /// Freezes an open entry.
    ///
    /// - Parameter lacks: the reasons why other changes wait.
    /// - Returns: nil if the entry no longer changes anything, waits for the server, or can never be accepted.
    private static func freeze(
        _ row: Row, table: SyncedTable, of own: SyncScope?, as next: Int64, lacks: Set<String>, _ db: Database
    ) throws -> Frozen? {
        let id: Int64 = row["id"]
        let isWhole = { (key: String) in row["isText"] == true && row["keyLength"] == key.utf8.count }
        guard let key = String.fromDatabaseValue(row["key"]), isWhole(key), SyncScope.isID(key) else {
            try refuse(
                id, code: "invalidKey",
                message: """
                    The id of a synced row must have 1 to 128 visible ASCII characters without | / " \\, as a UUID has.
                    """,
                db)
            return nil
        }
        guard let operation = SyncMutation.Operation(rawValue: row["operation"]),
            let values = try values(of: key, table, operation: operation, changed: row["columns"], db)
        else {
            // The row was deleted in a way that no trigger has seen.
            try remove(id, db)
            return nil
        }
        if let lack = try lack(of: table, values.compactMapValues(\.self), lacks: lacks, db) {
            try wait(id, for: lack, db)
            return nil
        }
        if let column = values.first(where: { $0.value == nil })?.key {
            try refuse(
                id, code: "invalidText",
                message: "The text of '\(column)' has a NUL or is not UTF-8. Store it as a BLOB, or correct it.", db
            )
            return nil
        }
        let mutation = SyncMutation(
            id: MutationID.make(), sequence: next, type: table.type, operation: operation, key: key,
            row: SyncRow(values.compactMapValues(\.self)), seen: own.map { seen(row, own: $0) })
        var bytes: [UInt8] = []
        mutation.write(to: &bytes)
        let line = String(decoding: bytes.dropLast(), as: UTF8.self)
        guard line.utf8.count < SyncMutation.byteLimit else {
            try refuse(
                id, code: "tooLarge",
                message: """
                    The row has \(line.utf8.count) bytes, and the limit is \(SyncMutation.byteLimit). Store it as a \
                    file.
                    """,
                db)
            return nil
        }
        try db.cachedStatement(sql: "UPDATE lfs_sync_outbox SET sequence = ?, mutation = ?, waits = NULL WHERE id = ?")
            .execute(arguments: [next, line, id])
        return Frozen(sequence: next, line: line, isDeletion: operation == .delete)
    }

    /// Returns the values to send from the current row. Nil if the row does not exist, or none of its values has
    /// changed. A text that would not reach other devices unchanged has the value nil.
    private static func values(
        of key: String, _ table: SyncedTable, operation: SyncMutation.Operation, changed: String, _ db: Database
    ) throws -> [String: SyncValue?]? {
        guard operation != .delete else { return [:] }
        let sql = "SELECT * FROM \(table.name.quotedDatabaseIdentifier) WHERE id = ?"
        let columns: [String]
        if operation == .put {
            columns = try table.columns(ofNew: key, db)
        } else {
            let names = try names(in: changed, db)
            columns = table.columns.filter(names.contains)
        }
        guard operation == .put || !columns.isEmpty else { return nil }
        // The raw text can be read only while the statement is at the row.
        let cursor = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: [key])
        return try withExtendedLifetime(cursor) {
            guard let row = try cursor.next() else { return nil }
            return Dictionary(
                try columns.map { ($0, try SyncValue(row, column: $0)) }, uniquingKeysWith: { first, _ in first })
        }
    }

    static func names(in columns: String, _ db: Database) throws -> Set<String> {
        let sql = "SELECT key FROM json_each(?)"
        return Set(try String.fetchAll(db.cachedStatement(sql: sql), arguments: [columns]))
    }

    /// Restarts the sequence numbers. Frozen changes become open again, merged with later changes of the same row.
    static func thaw(_ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM lfs_sync_outbox WHERE appliedAt IS NOT NULL").execute()
        let frozen = try Row.fetchAll(
            db.cachedStatement(sql: "SELECT DISTINCT tableName, key FROM lfs_sync_outbox WHERE sequence IS NOT NULL"))
        for row in frozen {
            let arguments: StatementArguments = [row["tableName"], row["key"]]
            let entries = try Row.fetchAll(
                db.cachedStatement(
                    sql:
                        "SELECT id, operation, columns FROM lfs_sync_outbox WHERE tableName = ? AND key = ? ORDER BY id"
                ), arguments: arguments)
            try combine(entries, isKnown: true, db)
        }
        try db.cachedStatement(sql: "UPDATE lfs_sync_outbox SET after = NULL, came = NULL").execute()
        try db.cachedStatement(sql: "UPDATE lfs_sync_state SET sequence = 0").execute()
    }

    /// Merges the entries of a row into one open entry.
    ///
    /// - Parameters:
    ///   - entries: rows with `id`, `operation` and `columns`, in their order.
    ///   - isKnown: whether the server may have the row.
    static func combine(_ entries: [Row], isKnown: Bool, _ db: Database) throws {
        guard let first = entries.first else { return }
        var columns: Set<String> = []
        for entry in entries { columns.formUnion(try names(in: entry["columns"], db)) }
        let operations = entries.map { $0["operation"] as String }
        // A final deletion wins. Otherwise the row exists, and is sent as a whole unless all entries are patches.
        let last =
            operations.last == "delete" ? "delete" : operations.allSatisfy { $0 == "patch" } ? "patch" : "put"
        let text =
            last == "patch" ? "{" + columns.sorted().map { "\"\($0)\":1" }.joined(separator: ",") + "}" : "{}"
        try db.cachedStatement(
            sql: """
                UPDATE lfs_sync_outbox SET operation = ?, columns = ?, isKnown = max(isKnown, ?), sequence = NULL,
                    mutation = NULL
                WHERE id = ?
                """
        ).execute(arguments: [last, text, isKnown, first["id"]])
        for entry in entries.dropFirst() { try remove(entry["id"], db) }
    }

    // MARK: After the answer

    /// An SQL condition with the same wording as the index that serves it.
    static let unanswered = "sequence = ? AND appliedAt IS NULL"

    /// Returns the change that was sent under a number, or nil if it was answered before.
    static func sent(_ sequence: Int64, _ db: Database) throws -> Sent? {
        let sql = "SELECT tableName, key, operation, came, isKnown FROM lfs_sync_outbox WHERE \(unanswered)"
        guard let row = try Row.fetchOne(db.cachedStatement(sql: sql), arguments: [sequence]) else { return nil }
        guard let key = String.fromDatabaseValue(row[1]) else {
            // Another program has written the key. The entry belongs to no row, and would be sent again forever.
            try applied(sequence, at: nil, db)
            return nil
        }
        return Sent(
            table: row[0], key: key, operation: SyncMutation.Operation(rawValue: row[2]),
            came: try (row[3] as String?).map { try IncomingChange($0) }, isKnown: row[4])
    }

    /// Records that the server has applied a change.
    ///
    /// - Parameter position: the position that the server has assigned, or nil if it had nothing to change.
    static func applied(_ sequence: Int64, at position: SyncPosition?, _ db: Database) throws {
        if let position {
            try db.cachedStatement(sql: "UPDATE lfs_sync_outbox SET appliedAt = ? WHERE \(unanswered)").execute(
                arguments: [position.text, sequence])
        } else {
            try db.cachedStatement(sql: "DELETE FROM lfs_sync_outbox WHERE \(unanswered)").execute(
                arguments: [sequence])
        }
    }

    /// Stores a change that the server has refused, with the reason.
    static func rejected(_ sequence: Int64, failure: WireFailure, _ db: Database) throws {
        let sql = "SELECT id FROM lfs_sync_outbox WHERE \(unanswered)"
        guard let id = try Int64.fetchOne(db.cachedStatement(sql: sql), arguments: [sequence]) else { return }
        try refuse(id, code: failure.code.rawValue, message: failure.message, db)
    }

    private static func refuse(_ id: Int64, code: String, message: String, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO lfs_sync_rejection (tableName, key, mutation, code, message)
                SELECT tableName, key, coalesce(mutation, ''), ?, ? FROM lfs_sync_outbox WHERE id = ?
                """
        ).execute(arguments: [code, message, id])
        try remove(id, db)
    }

    private static func remove(_ id: Int64, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM lfs_sync_outbox WHERE id = ?").execute(arguments: [id])
    }

    // MARK: Queries

    /// Returns the ids of rows with a refused change, and of new rows that wait because the server lacks a column or
    /// table.
    static func refused(_ table: String, _ db: Database) throws -> Set<String> {
        try String.fetchSet(
            db.cachedStatement(
                sql: """
                    SELECT key FROM lfs_sync_rejection WHERE tableName = ?1 AND typeof(key) = 'text'
                    UNION SELECT key FROM lfs_sync_outbox
                    WHERE tableName = ?1 AND waits IS NOT NULL AND operation = 'put' AND typeof(key) = 'text'
                    """), arguments: [table])
    }

    /// Returns true if a change of the table is pending or has not come back from the server yet.
    static func isWaiting(_ table: String, _ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM lfs_sync_outbox WHERE tableName = ? AND waits IS NULL)"
        return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [table]) == true
    }

    /// Returns the columns of a row that an incoming line must not change, or nil for all of them. First removes the
    /// entries whose changes the line already includes.
    ///
    /// - Parameter position: the position of the line. The line includes all changes that the server has applied up to
    ///   there.
    static func spared(
        _ table: SyncedTable, key: String, at position: SyncPosition, _ db: Database
    ) throws -> Set<String>? {
        let delete = "DELETE FROM lfs_sync_outbox WHERE tableName = ? AND key = ? AND appliedAt <= ?"
        try db.cachedStatement(sql: delete).execute(arguments: [table.name, key, position.text])
        let select = "SELECT operation, columns FROM lfs_sync_outbox WHERE tableName = ? AND key = ?"
        let statement = try db.cachedStatement(sql: select)
        var spared: Set<String> = []
        for row in try Row.fetchAll(statement, arguments: [table.name, key]) {
            guard row["operation"] == "patch" else { return nil }
            spared.formUnion(try names(in: row["columns"], db))
        }
        return spared
    }

    /// Stores an incoming change or deletion of a row until its local changes are answered. An answer may contain an
    /// older version of the row, and the stream does not send this change again.
    static func note(_ row: SyncRow?, table: SyncedTable, key: String, _ db: Database) throws {
        var bytes: [UInt8] = []
        row?.write(to: &bytes)
        let sql = "UPDATE lfs_sync_outbox SET came = ? WHERE tableName = ? AND key = ? AND appliedAt IS NULL"
        try db.cachedStatement(sql: sql).execute(
            arguments: [String(decoding: bytes, as: UTF8.self), table.name, key])
    }

    /// Returns true if a change of the row is in the outbox or was refused.
    static func knows(_ table: String, key: String, _ db: Database) throws -> Bool {
        let sql = """
            SELECT EXISTS (SELECT 1 FROM lfs_sync_outbox WHERE tableName = ?1 AND key = ?2)
                OR EXISTS (SELECT 1 FROM lfs_sync_rejection WHERE tableName = ?1 AND key = ?2)
            """
        return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [table, key]) == true
    }

    /// Removes the entry of a row that was created on this device, because the row has come back from the server.
    ///
    /// - Returns: false if no such entry existed.
    static func forgetApplied(_ table: String, key: String, _ db: Database) throws -> Bool {
        let sql = """
            DELETE FROM lfs_sync_outbox
            WHERE tableName = ? AND key = ? AND appliedAt IS NOT NULL AND operation = 'put'
            """
        try db.cachedStatement(sql: sql).execute(arguments: [table, key])
        return db.changesCount > 0
    }

    /// Queues a row that the server lacks.
    static func addMissing(_ table: String, key: String, _ db: Database) throws {
        try db.cachedStatement(
            sql: "INSERT INTO lfs_sync_outbox (tableName, key, operation, isKnown) VALUES (?, ?, 'put', 1)"
        ).execute(arguments: [table, key])
    }

    static func count(_ db: Database) throws -> Int {
        try Int.fetchOne(db.cachedStatement(sql: "SELECT count(*) FROM lfs_sync_outbox WHERE appliedAt IS NULL")) ?? 0
    }

    /// Returns the id of the newest unsent change, or nil if all are sent.
    static func newest(_ db: Database) throws -> Int64? {
        let sql = "SELECT max(id) FROM lfs_sync_outbox WHERE sequence IS NULL AND \(isDue)"
        return try Int64.fetchOne(db.cachedStatement(sql: sql))
    }

    static func isEmpty(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM lfs_sync_outbox)")) == false
    }

    static func rejections(_ limit: Int, _ db: Database) throws -> [SyncProblem] {
        let sql = """
            SELECT CAST(tableName AS TEXT), CASE typeof(key) WHEN 'blob' THEN hex(key) ELSE key END,
                CAST(message AS TEXT)
            FROM lfs_sync_rejection ORDER BY id DESC LIMIT ?
            """
        return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [limit]).map {
            SyncProblem(kind: .refused, table: $0[0], id: $0[1], reason: $0[2])
        }
    }

    static func rejectionCount(_ db: Database) throws -> Int {
        try Int.fetchOne(db.cachedStatement(sql: "SELECT count(*) FROM lfs_sync_rejection")) ?? 0
    }
}

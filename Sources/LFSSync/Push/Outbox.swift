import Foundation
import GRDB
import LFSWire

/// `lfs_sync_outbox`, `lfs_sync_rejection`: local changes on their way up, and those that the server has refused.
///
/// An entry is open until it is frozen: then it has a number, is the same each time it is sent, and later edits of its
/// row make another entry. It stays until its row has come from where the server has put it.
enum Outbox {
    /// A frozen change, as it is sent.
    struct Frozen: Sendable {
        let sequence: Int64
        let line: String
    }

    /// A frozen change that was answered.
    struct Sent {
        let table: String
        let key: String
        let operation: SyncMutation.Operation?
        /// What has come of the row meanwhile; nil where nothing has.
        let came: Came?
    }

    // MARK: Before sending

    /// What has to be sent next: changes that nobody has answered, and then new ones. Those of parents come before
    /// those of their children, and deletions after all others, the other way round.
    ///
    /// - Parameter own: the scope of the account's own rows; nil before it is known.
    static func freeze(
        limit: Int, byteLimit: Int, _ tables: [SyncedTable], of own: SyncScope?, _ db: Database
    ) throws -> [Frozen] {
        var frozen: [Frozen] = []
        let sent = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT sequence, mutation FROM lfs_sync_outbox
                    WHERE sequence IS NOT NULL AND appliedAt IS NULL AND mutation IS NOT NULL
                    ORDER BY sequence LIMIT ?
                    """), arguments: [limit])
        for row in sent { frozen.append(Frozen(sequence: row["sequence"], line: row["mutation"])) }
        var byteCount = frozen.reduce(0) { $0 + $1.line.utf8.count }
        let last = try Int64.fetchOne(db.cachedStatement(sql: "SELECT sequence FROM lfs_sync_state")) ?? 0
        // The number is input. No server takes a larger one.
        var next = min(last, WireFormat.largestNumber) + 1
        let lacks = try Set(lacks(db))
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
                    guard let entry = try freeze(row, table, of: own, as: next, lacks, db) else { continue }
                    next += 1
                    byteCount += entry.line.utf8.count
                    frozen.append(entry)
                }
            }
        }
        try db.cachedStatement(sql: "UPDATE lfs_sync_state SET sequence = ?").execute(arguments: [next - 1])
        // What is left is of none of the tables.
        if frozen.isEmpty { try requireNone(db) }
        return bounded(frozen, byteLimit)
    }

    /// As many as go into one request, and one in any case.
    private static func bounded(_ frozen: [Frozen], _ byteLimit: Int) -> [Frozen] {
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
            throw SyncError(.missingTable, "The table '\(name)' was shared and is not any more: install it again.")
        }
    }

    /// - Parameter lacks: what the server lacks, as far as is known.
    /// - Returns: nil for a change that is none any more, one that waits for the server, or one that no server takes.
    private static func freeze(
        _ row: Row, _ table: SyncedTable, of own: SyncScope?, as next: Int64, _ lacks: Set<String>, _ db: Database
    ) throws -> Frozen? {
        let id: Int64 = row["id"]
        let isWhole = { (key: String) in row["isText"] == true && row["keyLength"] == key.utf8.count }
        guard let key = String.fromDatabaseValue(row["key"]), isWhole(key), SyncScope.isID(key) else {
            try refuse(
                id, "invalidKey",
                "An id that is shared has 1 to 128 visible ASCII characters without | / \" \\, as a UUID has.", db)
            return nil
        }
        guard let operation = SyncMutation.Operation(rawValue: row["operation"]),
            let values = try values(of: key, table, operation, row["columns"], db)
        else {
            // The row has gone on a way that no trigger saw.
            try remove(id, db)
            return nil
        }
        if let lack = try lack(of: table, values.compactMapValues(\.self), lacks, db) {
            try wait(id, for: lack, db)
            return nil
        }
        if let column = values.first(where: { $0.value == nil })?.key {
            try refuse(
                id, "invalidText", "The text of '\(column)' has a NUL, or is not UTF-8: make it a BLOB, or mend it.", db
            )
            return nil
        }
        let mutation = SyncMutation(
            id: MutationID.make(), sequence: next, type: table.type, operation: operation, key: key,
            row: SyncRow(values.compactMapValues(\.self)), seen: own.map { seen(row, $0) })
        var bytes: [UInt8] = []
        mutation.write(to: &bytes)
        let line = String(decoding: bytes.dropLast(), as: UTF8.self)
        guard line.utf8.count < SyncMutation.byteLimit else {
            try refuse(
                id, "tooLarge",
                "The row has \(line.utf8.count) bytes, and \(SyncMutation.byteLimit) is what fits: make it a file.", db)
            return nil
        }
        try db.cachedStatement(sql: "UPDATE lfs_sync_outbox SET sequence = ?, mutation = ?, waits = NULL WHERE id = ?")
            .execute(arguments: [next, line, id])
        return Frozen(sequence: next, line: line)
    }

    /// What is sent of the row as it is now; nil when it is not there, or nothing of it has changed. A text that no
    /// other device would get as it is has no value.
    private static func values(
        of key: String, _ table: SyncedTable, _ operation: SyncMutation.Operation, _ changed: String, _ db: Database
    ) throws -> [String: SyncValue?]? {
        guard operation != .delete else { return [:] }
        let sql = "SELECT * FROM \(table.name.quotedDatabaseIdentifier) WHERE id = ?"
        let columns: [String]
        if operation == .put {
            columns = table.columns
        } else {
            let names = try names(in: changed, db)
            columns = table.columns.filter(names.contains)
        }
        guard operation == .put || !columns.isEmpty else { return nil }
        // The row is read where its statement stands.
        let cursor = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: [key])
        return try withExtendedLifetime(cursor) {
            guard let row = try cursor.next() else { return nil }
            return Dictionary(
                try columns.map { ($0, try SyncValue(row, $0)) }, uniquingKeysWith: { first, _ in first })
        }
    }

    static func names(in columns: String, _ db: Database) throws -> Set<String> {
        let sql = "SELECT key FROM json_each(?)"
        return Set(try String.fetchAll(db.cachedStatement(sql: sql), arguments: [columns]))
    }

    /// Begins all numbers anew: what was frozen is open again, and one entry with what has changed since.
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

    /// Makes one open entry of those of a row.
    ///
    /// - Parameters:
    ///   - entries: with their `id`, `operation` and `columns`, in their order.
    ///   - isKnown: whether the server may have the row.
    static func combine(_ entries: [Row], isKnown: Bool, _ db: Database) throws {
        guard let first = entries.first else { return }
        var columns: Set<String> = []
        for entry in entries { columns.formUnion(try names(in: entry["columns"], db)) }
        let operations = entries.map { $0["operation"] as String }
        // The last word is a deletion, or a row that is here: whole, if any of them was.
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

    /// In the words of the index that finds it.
    static let unanswered = "sequence = ? AND appliedAt IS NULL"

    /// What was sent under a number; nil when it was answered before.
    static func sent(_ sequence: Int64, _ db: Database) throws -> Sent? {
        let sql = "SELECT tableName, key, operation, came FROM lfs_sync_outbox WHERE \(unanswered)"
        guard let row = try Row.fetchOne(db.cachedStatement(sql: sql), arguments: [sequence]) else { return nil }
        guard let key = String.fromDatabaseValue(row[1]) else {
            // Another program has written the key. The entry belongs to no row, and would be sent again for ever.
            try applied(sequence, at: nil, db)
            return nil
        }
        return Sent(
            table: row[0], key: key, operation: SyncMutation.Operation(rawValue: row[2]),
            came: try (row[3] as String?).map { try Came($0) })
    }

    /// - Parameter position: where the server has put it; nil when nothing had to change there.
    static func applied(_ sequence: Int64, at position: SyncPosition?, _ db: Database) throws {
        if let position {
            try db.cachedStatement(sql: "UPDATE lfs_sync_outbox SET appliedAt = ? WHERE \(unanswered)").execute(
                arguments: [position.text, sequence])
        } else {
            try db.cachedStatement(sql: "DELETE FROM lfs_sync_outbox WHERE \(unanswered)").execute(
                arguments: [sequence])
        }
    }

    /// Keeps what the server has refused, and what it said.
    static func rejected(_ sequence: Int64, _ failure: WireFailure, _ db: Database) throws {
        let sql = "SELECT id FROM lfs_sync_outbox WHERE \(unanswered)"
        guard let id = try Int64.fetchOne(db.cachedStatement(sql: sql), arguments: [sequence]) else { return }
        try refuse(id, failure.code.rawValue, failure.message, db)
    }

    private static func refuse(_ id: Int64, _ code: String, _ message: String, _ db: Database) throws {
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

    // MARK: What others ask

    /// The keys of the rows of which the server has refused a change, or that it does not have since it lacks a column.
    static func refused(_ table: String, _ db: Database) throws -> Set<String> {
        try String.fetchSet(
            db.cachedStatement(
                sql: """
                    SELECT key FROM lfs_sync_rejection WHERE tableName = ?1 AND typeof(key) = 'text'
                    UNION SELECT key FROM lfs_sync_outbox
                    WHERE tableName = ?1 AND waits IS NOT NULL AND operation = 'put' AND typeof(key) = 'text'
                    """), arguments: [table])
    }

    /// Whether a change of one of its rows is on its way, or waits for its row to come back.
    static func isWaiting(_ table: String, _ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM lfs_sync_outbox WHERE tableName = ? AND waits IS NULL)"
        return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [table]) == true
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
            spared.formUnion(try names(in: row["columns"], db))
        }
        return spared
    }

    /// Keeps what has come of a row, or that it is gone, until its changes are answered: an answer may tell of the row
    /// as it was before, and this does not come again.
    static func note(_ row: SyncRow?, _ table: SyncedTable, _ key: String, _ db: Database) throws {
        var bytes: [UInt8] = []
        row?.write(to: &bytes)
        let sql = "UPDATE lfs_sync_outbox SET came = ? WHERE tableName = ? AND key = ? AND appliedAt IS NULL"
        try db.cachedStatement(sql: sql).execute(
            arguments: [String(decoding: bytes, as: UTF8.self), table.name, key])
    }

    /// Whether a change of the row is on its way, or was refused.
    static func knows(_ table: String, _ key: String, _ db: Database) throws -> Bool {
        let sql = """
            SELECT EXISTS (SELECT 1 FROM lfs_sync_outbox WHERE tableName = ?1 AND key = ?2)
                OR EXISTS (SELECT 1 FROM lfs_sync_rejection WHERE tableName = ?1 AND key = ?2)
            """
        return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [table, key]) == true
    }

    /// Forgets that a row was made here and that the server has it, since it has come from there.
    ///
    /// - Returns: false when there was nothing of that kind to forget.
    static func forgetApplied(_ table: String, _ key: String, _ db: Database) throws -> Bool {
        let sql = """
            DELETE FROM lfs_sync_outbox
            WHERE tableName = ? AND key = ? AND appliedAt IS NOT NULL AND operation = 'put'
            """
        try db.cachedStatement(sql: sql).execute(arguments: [table, key])
        return db.changesCount > 0
    }

    /// Queues a row that the server does not have.
    static func addMissing(_ table: String, _ key: String, _ db: Database) throws {
        try db.cachedStatement(
            sql: "INSERT INTO lfs_sync_outbox (tableName, key, operation, isKnown) VALUES (?, ?, 'put', 1)"
        ).execute(arguments: [table, key])
    }

    static func count(_ db: Database) throws -> Int {
        try Int.fetchOne(db.cachedStatement(sql: "SELECT count(*) FROM lfs_sync_outbox WHERE appliedAt IS NULL")) ?? 0
    }

    /// The last change that nobody has sent; nil when there is none.
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

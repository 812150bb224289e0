import GRDB
import LFSWire

/// Writes received rows into their table, or removes them: within one transaction.
struct RowApply {
    let table: SyncedTable
    /// Whether no change of this device waits, so that none has to be looked for.
    private let isQuiet: Bool
    private let name: String
    /// Of a row with all of its columns, which nearly all have.
    private let whole: KeptStatement
    private let queued: RowQueue

    init(table: SyncedTable, isQuiet: Bool = false) {
        (self.table, self.isQuiet) = (table, isQuiet)
        name = table.name.quotedDatabaseIdentifier
        whole = KeptStatement(sql: Self.insert(into: name, table.columns))
        // No more values than each SQLite takes.
        let count = min(16, 900 / (table.columns.count + 1))
        queued = RowQueue(
            statement: KeptStatement(sql: Self.insert(into: name, table.columns, count: count)), limit: count)
    }

    /// As ``put(_:at:_:)``, with several rows in one statement: what each statement costs, such as a savepoint for the
    /// triggers, is as much as a row. ``flush(_:)`` writes those that still wait.
    ///
    /// - Returns: how many rows have changed something by now; nil for a row that needs a statement of its own.
    func queue(_ row: SyncRow, _ db: Database) throws -> Int? {
        guard isQuiet, queued.limit > 1, let key = row.text(SyncedTable.keyColumn) else { return nil }
        guard Self.add(key, row, table.columns, to: &queued.values) else { return nil }
        queued.count += 1
        guard queued.count == queued.limit else { return 0 }
        let values = queued.take()
        try queued.statement.execute(StatementArguments(values), db)
        return db.changesCount
    }

    /// - Returns: how many rows have changed something.
    func flush(_ db: Database) throws -> Int {
        let values = queued.take()
        let width = table.columns.count + 1
        var changed = 0
        for start in stride(from: 0, to: values.count, by: width) {
            try whole.execute(StatementArguments(values[start..<start + width]), db)
            changed += db.changesCount
        }
        return changed
    }

    /// Whether something has changed. Columns that the device itself has changed, and that the server does not have
    /// yet, stay.
    func put(_ row: SyncRow, at position: SyncPosition, _ db: Database) throws -> Bool {
        guard let key = row.text(SyncedTable.keyColumn) else { throw RowProblem.noKey }
        guard let spared = try isQuiet ? [] : Outbox.spared(table, key, at: position, db) else {
            try Outbox.note(row, table, key, db)
            return false
        }
        var all: [DatabaseValue] = []
        if spared.isEmpty, Self.add(key, row, table.columns, to: &all) {
            try whole.execute(StatementArguments(all), db)
            return db.changesCount > 0
        }
        if !spared.isEmpty { try Outbox.note(row, table, key, db) }
        let columns = table.columns.filter { row[$0] != nil && !spared.contains($0) }
        var values = columns.map { row[$0]?.databaseValue ?? .null }
        let sql: String
        if spared.isEmpty {
            sql = Self.insert(into: name, columns)
            values.insert(key.databaseValue, at: 0)
        } else {
            // With a part of the columns only, a row that is gone here cannot be made.
            if columns.isEmpty { return false }
            let changes = columns.map { "\($0.quotedDatabaseIdentifier) = ?" }.joined(separator: ", ")
            sql = "UPDATE \(name) SET \(changes) WHERE id = ?"
            values.append(key.databaseValue)
        }
        try db.cachedStatement(sql: sql).execute(arguments: StatementArguments(values))
        return db.changesCount > 0
    }

    /// Adds the values of a row with all of its columns.
    ///
    /// - Returns: false for any other row, of which nothing is added.
    private static func add(
        _ key: String, _ row: SyncRow, _ columns: [String], to values: inout [DatabaseValue]
    ) -> Bool {
        let count = values.count
        values.append(key.databaseValue)
        for (index, column) in columns.enumerated() {
            // The key comes first, and the others mostly in the order of the table.
            guard let value = row.value(of: column, at: index + 1) else {
                values.removeLast(values.count - count)
                return false
            }
            values.append(value.databaseValue)
        }
        return true
    }

    private static func insert(into name: String, _ columns: [String], count: Int = 1) -> String {
        let quoted = columns.map(\.quotedDatabaseIdentifier)
        let names = ([SyncedTable.keyColumn.quotedDatabaseIdentifier] + quoted).joined(separator: ", ")
        let changes = quoted.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
        let differs = quoted.map { "\(name).\($0) IS NOT excluded.\($0)" }.joined(separator: " OR ")
        let end = columns.isEmpty ? "DO NOTHING" : "DO UPDATE SET \(changes) WHERE \(differs)"
        let row = "(\(databaseQuestionMarks(count: columns.count + 1)))"
        let rows = Array(repeating: row, count: count).joined(separator: ", ")
        return "INSERT INTO \(name) (\(names)) VALUES \(rows) ON CONFLICT (id) \(end)"
    }

    func delete(_ key: String, at position: SyncPosition, _ db: Database) throws -> Bool {
        // A row that the server has still to get was not deleted there.
        if !isQuiet {
            let spared = try Outbox.spared(table, key, at: position, db)
            if spared?.isEmpty != true { try Outbox.note(nil, table, key, db) }
            if spared == nil { return false }
        }
        try db.cachedStatement(sql: "DELETE FROM \(name) WHERE id = ?").execute(arguments: [key])
        return db.changesCount > 0
    }

    func isThere(_ key: String, _ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM \(name) WHERE id = ?)"
        return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [key]) == true
    }

    /// What a row refers to and is not here.
    struct MissingParent {
        /// Of the row.
        let column: String
        let table: String
        /// Of the parent: mostly its id.
        let destination: String
        let value: SyncValue
    }

    func missingParents(of row: SyncRow, _ db: Database) throws -> [MissingParent] {
        var missing: [MissingParent] = []
        for parent in try db.foreignKeys(on: table.name) where parent.mapping.count == 1 {
            guard let (origin, destination) = parent.mapping.first, let value = row[origin], value != .null else {
                continue
            }
            // A row may be its own parent.
            if parent.destinationTable == table.name, value == row[destination] { continue }
            let sql = """
                SELECT 1 FROM \(parent.destinationTable.quotedDatabaseIdentifier)
                WHERE \(destination.quotedDatabaseIdentifier) = ?
                """
            let isThere = try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [value.databaseValue]) == true
            if !isThere {
                missing.append(
                    MissingParent(
                        column: origin, table: parent.destinationTable, destination: destination, value: value))
            }
        }
        return missing
    }
}

/// A statement that is looked for once, and once more after it has failed: such a one cannot be run again.
private final class KeptStatement {
    private let sql: String
    private var statement: Statement?

    init(sql: String) { self.sql = sql }

    func execute(_ arguments: StatementArguments, _ db: Database) throws {
        let prepared = try statement ?? db.cachedStatement(sql: sql)
        statement = nil
        try prepared.execute(arguments: arguments)
        statement = prepared
    }
}

/// Rows that wait for others to be written with them.
private final class RowQueue {
    let statement: KeptStatement
    /// How many the statement takes.
    let limit: Int
    var values: [DatabaseValue] = []
    var count = 0

    init(statement: KeptStatement, limit: Int) { (self.statement, self.limit) = (statement, limit) }

    func take() -> [DatabaseValue] {
        defer {
            values.removeAll(keepingCapacity: true)
            count = 0
        }
        return values
    }
}

/// Why a received row cannot be applied.
enum RowProblem: Error, CustomStringConvertible {
    case noKey
    case ownRow
    case missingParent(String)
    case openReference

    var description: String {
        switch self {
        case .noKey: "It has no 'id'."
        case .ownRow: "Its id is that of a row of the account's own."
        case .missingParent(let column): "What its '\(column)' refers to is not here."
        case .openReference: "It would leave a reference to a row that is not here."
        }
    }
}

extension Error {
    /// Whether a row is to blame, and not the database as a whole.
    var isOfRow: Bool {
        switch self {
        case is RowProblem: true
        case let error as DatabaseError:
            switch error.resultCode {
            case .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG: true
            // Such as of a function in an index or a trigger of the host, which cannot take the value. Where a table or
            // column is missing, no row is to blame.
            case .SQLITE_ERROR: !["no such", "has no column"].contains { (error.message ?? "no such").contains($0) }
            default: false
            }
        default: false
        }
    }
}

import GRDB
import LFSWire

/// A writer that inserts, updates and deletes received rows of one table, within one transaction.
struct RowApply {
    let table: SyncedTable
    /// True if no local change is pending, so that no lookup is necessary.
    private let isQuiet: Bool
    private let name: String
    /// The insert statement for rows with all columns, as nearly all of them are.
    private let whole: KeptStatement
    private let queued: RowQueue

    init(table: SyncedTable, isQuiet: Bool = false) {
        self.table = table
        self.isQuiet = isQuiet
        name = table.name.quotedDatabaseIdentifier
        whole = KeptStatement(sql: Self.insert(into: name, table.columns))
        queued = RowQueue(table)
    }

    /// Applies a row as ``put(_:at:_:)`` does, but may write it later, with the next rows or by ``flush(_:_:)``.
    ///
    /// - Parameter changed: a counter that is increased by the number of rows that changed something.
    /// - Returns: false for a row that must be written separately.
    func queue(_ row: SyncRow, changed: inout Int, _ db: Database) throws -> Bool {
        try isQuiet && queued.add(row, changed: &changed, db)
    }

    /// Writes the queued rows.
    func flush(_ changed: inout Int, _ db: Database) throws { try queued.flush(&changed, db) }

    /// Inserts or updates a row. Columns with local changes that the server does not have yet keep their values.
    ///
    /// - Returns: true if the row has changed.
    func put(_ row: SyncRow, at position: SyncPosition, _ db: Database) throws -> Bool {
        guard let key = row.text(SyncedTable.keyColumn) else { throw RowProblem.noKey }
        guard let spared = try isQuiet ? [] : Outbox.spared(table, key: key, at: position, db) else {
            try Outbox.note(row, table: table, key: key, db)
            return false
        }
        let all = row.values
        let there = table.columns.compactMap { all[$0]?.databaseValue }
        if spared.isEmpty, there.count == table.columns.count {
            try whole.execute(StatementArguments([key.databaseValue] + there), db)
            return db.changesCount > 0
        }
        if !spared.isEmpty { try Outbox.note(row, table: table, key: key, db) }
        let columns = table.columns.filter { all[$0] != nil && !spared.contains($0) }
        var values = columns.map { all[$0]?.databaseValue ?? .null }
        let sql: String
        if spared.isEmpty {
            sql = Self.insert(into: name, columns)
            values.insert(key.databaseValue, at: 0)
        } else {
            // A row that was deleted on this device cannot be recreated from only some of its columns.
            if columns.isEmpty { return false }
            let changes = columns.map { "\($0.quotedDatabaseIdentifier) = ?" }.joined(separator: ", ")
            sql = "UPDATE \(name) SET \(changes) WHERE id = ?"
            values.append(key.databaseValue)
        }
        try db.cachedStatement(sql: sql).execute(arguments: StatementArguments(values))
        return db.changesCount > 0
    }

    /// Returns a statement that inserts rows, or updates those that exist.
    ///
    /// - Parameter columns: all columns except the key, which comes first.
    /// - Parameter count: the number of rows.
    static func insert(into name: String, _ columns: [String], count: Int = 1) -> String {
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
        // The server cannot have deleted a row that it has not received yet.
        if !isQuiet {
            let spared = try Outbox.spared(table, key: key, at: position, db)
            if spared?.isEmpty != true { try Outbox.note(nil, table: table, key: key, db) }
            if spared == nil { return false }
        }
        try db.cachedStatement(sql: "DELETE FROM \(name) WHERE id = ?").execute(arguments: [key])
        return db.changesCount > 0
    }

    func isThere(_ key: String, _ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM \(name) WHERE id = ?)"
        return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [key]) == true
    }

    /// A reference of a row to a parent that does not exist on this device.
    struct MissingParent {
        /// The referring column of the row.
        let column: String
        let table: String
        /// The referenced column of the parent, usually its id.
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

/// A reason why a received row cannot be applied.
enum RowProblem: Error, CustomStringConvertible {
    case noKey
    case ownRow
    case missingParent(String)
    case openReference

    var description: String {
        switch self {
        case .noKey: "It has no 'id'."
        case .ownRow: "Its id belongs to one of the account's own rows."
        case .missingParent(let column): "The row that its '\(column)' refers to is not on this device."
        case .openReference: "It would leave a reference to a row that is not on this device."
        }
    }
}

extension DatabaseError {
    /// True if a foreign key failed: a row refers to a missing row, or a deleted row is still referenced.
    var isOfReference: Bool { extendedResultCode == .SQLITE_CONSTRAINT_FOREIGNKEY }
}

extension Error {
    /// True if a single row caused the error, not the database as a whole.
    var isOfRow: Bool {
        switch self {
        case is RowProblem: true
        case let error as DatabaseError:
            switch error.resultCode {
            case .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG: true
            // For example, a function in an index or trigger of the app cannot handle the value. A missing table or
            // column is not caused by the row.
            case .SQLITE_ERROR: !["no such", "has no column"].contains { (error.message ?? "no such").contains($0) }
            default: false
            }
        default: false
        }
    }
}

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
        queued = RowQueue(table)
    }

    /// As ``put(_:at:_:)``, for a row that may be written with those that come next, or by ``flush(_:_:)``.
    ///
    /// - Parameter changed: how many rows have changed something is added to it.
    /// - Returns: false for a row that has to be written by itself.
    func queue(_ row: SyncRow, _ changed: inout Int, _ db: Database) throws -> Bool {
        try isQuiet && queued.add(row, &changed, db)
    }

    /// Writes the rows that still wait.
    func flush(_ changed: inout Int, _ db: Database) throws { try queued.flush(&changed, db) }

    /// Whether something has changed. Columns that the device itself has changed, and that the server does not have
    /// yet, stay.
    func put(_ row: SyncRow, at position: SyncPosition, _ db: Database) throws -> Bool {
        guard let key = row.text(SyncedTable.keyColumn) else { throw RowProblem.noKey }
        guard let spared = try isQuiet ? [] : Outbox.spared(table, key, at: position, db) else {
            try Outbox.note(row, table, key, db)
            return false
        }
        let all = row.values
        let there = table.columns.compactMap { all[$0]?.databaseValue }
        if spared.isEmpty, there.count == table.columns.count {
            try whole.execute(StatementArguments([key.databaseValue] + there), db)
            return db.changesCount > 0
        }
        if !spared.isEmpty { try Outbox.note(row, table, key, db) }
        let columns = table.columns.filter { all[$0] != nil && !spared.contains($0) }
        var values = columns.map { all[$0]?.databaseValue ?? .null }
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

    /// - Parameter columns: all but the key, which comes first.
    /// - Parameter count: of rows.
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

extension DatabaseError {
    /// Whether a row refers to one that is not there, or one is referred to that goes.
    var isOfReference: Bool { extendedResultCode == .SQLITE_CONSTRAINT_FOREIGNKEY }
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

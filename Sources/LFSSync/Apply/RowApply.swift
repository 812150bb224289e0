import GRDB
import LFSWire

/// Writes one received row into its table, or removes one.
struct RowApply {
    let table: SyncedTable
    /// Whether no change of this device waits, so that none has to be looked for.
    private let isQuiet: Bool
    private let name: String
    /// The statement of a row with all of its columns, which nearly all have.
    private let whole: String

    init(table: SyncedTable, isQuiet: Bool = false) {
        (self.table, self.isQuiet) = (table, isQuiet)
        name = table.name.quotedDatabaseIdentifier
        whole = Self.insert(into: name, table.columns)
    }

    /// Whether something has changed. Columns that the device itself has changed, and that the server does not have
    /// yet, stay.
    func put(_ row: SyncRow, at position: SyncPosition, _ db: Database) throws -> Bool {
        guard let key = row.text(SyncedTable.keyColumn) else { throw RowProblem.noKey }
        guard let spared = try isQuiet ? [] : Outbox.spared(table, key, at: position, db) else {
            try Outbox.note(row, table, key, db)
            return false
        }
        if spared.isEmpty, let values = Self.values(key, row, table.columns) {
            try db.cachedStatement(sql: whole).execute(arguments: values)
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

    /// Those of a row with all of its columns; nil for any other.
    private static func values(_ key: String, _ row: SyncRow, _ columns: [String]) -> StatementArguments? {
        var values: [DatabaseValue] = []
        values.reserveCapacity(columns.count + 1)
        values.append(key.databaseValue)
        for column in columns {
            guard let value = row[column] else { return nil }
            values.append(value.databaseValue)
        }
        return StatementArguments(values)
    }

    private static func insert(into name: String, _ columns: [String]) -> String {
        let quoted = columns.map(\.quotedDatabaseIdentifier)
        let names = ([SyncedTable.keyColumn.quotedDatabaseIdentifier] + quoted).joined(separator: ", ")
        let changes = quoted.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
        let differs = quoted.map { "\(name).\($0) IS NOT excluded.\($0)" }.joined(separator: " OR ")
        let end = columns.isEmpty ? "DO NOTHING" : "DO UPDATE SET \(changes) WHERE \(differs)"
        return "INSERT INTO \(name) (\(names)) VALUES (\(databaseQuestionMarks(count: columns.count + 1)))"
            + " ON CONFLICT (id) \(end)"
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

    /// The column whose parent is not here; nil when all of them are.
    func missingParent(of row: SyncRow, _ db: Database) throws -> String? {
        for parent in try db.foreignKeys(on: table.name) where parent.mapping.count == 1 {
            guard let (origin, destination) = parent.mapping.first, let value = row[origin], value != .null else {
                continue
            }
            let sql = """
                SELECT 1 FROM \(parent.destinationTable.quotedDatabaseIdentifier)
                WHERE \(destination.quotedDatabaseIdentifier) = ?
                """
            let isThere = try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [value.databaseValue]) == true
            if !isThere { return origin }
        }
        return nil
    }
}

/// Why a received row cannot be applied.
enum RowProblem: Error, CustomStringConvertible {
    case noKey
    case ownRow
    case missingParent(String)

    var description: String {
        switch self {
        case .noKey: "It has no 'id'."
        case .ownRow: "Its id is that of a row of the account's own."
        case .missingParent(let column): "What its '\(column)' refers to is not here."
        }
    }
}

extension Error {
    /// Whether a row is to blame, and not the database as a whole.
    var isOfRow: Bool {
        switch self {
        case is RowProblem: true
        case let error as DatabaseError:
            [.SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG].contains(error.resultCode)
        default: false
        }
    }
}

import GRDB
import GRDBSQLite
import LFSWire

/// Rows of a table that wait for others to be written with them in one statement: what each statement costs, such as a
/// savepoint for the triggers, is as much as a row. Their texts go from the bytes that have come to SQLite, and nothing
/// is made of them on the way.
final class RowQueue {
    private let table: SyncedTable
    /// The columns of all rows that wait, the key first.
    private var columns: [String] = []
    private var rows: [SyncRow] = []
    private var statements: (many: KeptStatement, one: KeptStatement)?
    /// How many rows the first of them takes.
    private var limit = 1
    private let memory = BoundMemory()

    init(_ table: SyncedTable) { self.table = table }

    /// Takes a row, and writes all when they are enough.
    ///
    /// - Parameter changed: how many rows have changed something is added to it.
    /// - Returns: false for a row that was not taken and has to be written by itself.
    func add(_ row: SyncRow, _ changed: inout Int, _ db: Database) throws -> Bool {
        // What is cut off at a NUL elsewhere is not to be another row here.
        guard row.cells.startsWithText, !row.cells.hasNUL else { return false }
        if row.columns != columns {
            guard row.columns.first == SyncedTable.keyColumn, row.columns.count == table.columns.count + 1,
                Set(row.columns.dropFirst()) == Set(table.columns)
            else { return false }
            try flush(&changed, db)
            prepare(row.columns)
        }
        rows.append(row)
        if rows.count == limit, let statements {
            defer { rows.removeAll(keepingCapacity: true) }
            try write(rows[...], by: statements.many, &changed, db)
        }
        return true
    }

    /// Writes the rows that wait.
    ///
    /// - Parameter changed: as for ``add(_:_:_:)``.
    func flush(_ changed: inout Int, _ db: Database) throws {
        guard let statements else { return }
        defer { rows.removeAll(keepingCapacity: true) }
        for index in rows.indices { try write(rows[index...index], by: statements.one, &changed, db) }
    }

    private func prepare(_ columns: [String]) {
        self.columns = columns
        // No more values than each SQLite takes.
        limit = max(1, min(16, 900 / columns.count))
        func statement(_ count: Int) -> KeptStatement {
            KeptStatement(
                sql: RowApply.insert(
                    into: table.name.quotedDatabaseIdentifier, Array(columns.dropFirst()), count: count))
        }
        statements = (statement(limit), statement(1))
    }

    private func write(
        _ rows: ArraySlice<SyncRow>, by statement: KeptStatement, _ changed: inout Int, _ db: Database
    ) throws {
        try statement.execute(db) { statement in
            memory.clear(reserving: rows.reduce(0) { $0 + $1.cells.byteCount })
            var number: Int32 = 0
            for row in rows {
                row.cells.forEach { _, cell in
                    number += 1
                    memory.bind(cell, to: statement, number)
                    return true
                }
            }
        }
        changed += db.changesCount
    }
}

/// A statement that is looked for once, and once more after it has failed: such a one cannot be run again.
final class KeptStatement {
    private let sql: String
    private var statement: Statement?

    init(sql: String) { self.sql = sql }

    func execute(_ arguments: StatementArguments, _ db: Database) throws {
        let prepared = try statement ?? db.cachedStatement(sql: sql)
        statement = nil
        try prepared.execute(arguments: arguments)
        statement = prepared
    }

    /// - Parameter bind: has to bind all of its values. What they point to is not looked at after this call.
    func execute(_ db: Database, _ bind: (SQLiteStatement) -> Void) throws {
        let prepared = try statement ?? self.prepared(db)
        statement = nil
        sqlite3_reset(prepared.sqliteStatement)
        bind(prepared.sqliteStatement)
        defer { sqlite3_clear_bindings(prepared.sqliteStatement) }
        try prepared.execute()
        statement = prepared
    }

    /// GRDB runs a statement without looking for its values once it has got some.
    private func prepared(_ db: Database) throws -> Statement {
        let statement = try db.cachedStatement(sql: sql)
        sqlite3_reset(statement.sqliteStatement)
        let count = Int(sqlite3_bind_parameter_count(statement.sqliteStatement))
        try statement.setArguments(StatementArguments(Array(repeating: DatabaseValue.null, count: count)))
        return statement
    }
}

/// Memory that SQLite reads while a statement runs.
private final class BoundMemory {
    private var bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 4_096, alignment: 1)
    private var count = 0

    deinit { bytes.deallocate() }

    /// - Parameter needed: bytes of all texts and blobs that will be bound.
    func clear(reserving needed: Int) {
        count = 0
        guard needed > bytes.count else { return }
        bytes.deallocate()
        bytes = .allocate(byteCount: needed, alignment: 1)
    }

    /// Binds a value to a statement that was reset. That fails for a number that the statement does not have, and for
    /// what is larger than SQLite's limit, which is a thousand times that of a line.
    func bind(_ cell: SyncCells.Cell, to statement: SQLiteStatement, _ number: Int32) {
        switch cell {
        case .null: sqlite3_bind_null(statement, number)
        case .integer(let value): sqlite3_bind_int64(statement, number, value)
        case .real(let value): sqlite3_bind_double(statement, number, value)
        case .text(let text):
            let copy = keep(text)
            sqlite3_bind_text(
                statement, number, copy.assumingMemoryBound(to: CChar.self), Int32(text.count), nil)
        case .blob(let blob):
            if blob.isEmpty {
                sqlite3_bind_zeroblob(statement, number, 0)
            } else {
                sqlite3_bind_blob(statement, number, keep(blob), Int32(blob.count), nil)
            }
        }
    }

    private func keep(_ content: UnsafeRawBufferPointer) -> UnsafeRawPointer {
        let place = UnsafeMutableRawBufferPointer(rebasing: bytes[count..<count + content.count])
        place.copyMemory(from: content)
        let start = UnsafeRawPointer(bytes.baseAddress! + count)
        count += content.count
        return start
    }
}

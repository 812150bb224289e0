import GRDB
import GRDBSQLite
import LFSWire

/// A queue of rows that one statement writes to a table together. The fixed cost of a statement, such as a savepoint
/// for the triggers, is as high as the cost of a row. The received bytes of text are passed to SQLite without creating
/// strings.
final class RowQueue {
    private let table: SyncedTable
    /// The columns of all queued rows, the key first.
    private var columns: [String] = []
    private var rows: [SyncRow] = []
    private var statements: (many: KeptStatement, one: KeptStatement)?
    /// The number of rows that the statement `many` takes.
    private var limit = 1
    private let memory = BoundMemory()

    init(_ table: SyncedTable) { self.table = table }

    /// Queues a row, and writes all queued rows once there are enough.
    ///
    /// - Parameter changed: a counter that is increased by the number of rows that changed something.
    /// - Returns: false for a row that was not queued and must be written separately.
    func add(_ row: SyncRow, changed: inout Int, _ db: Database) throws -> Bool {
        // Other code cuts text off at a NUL. Such a text must not become a different row on this path.
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
            try write(rows[...], by: statements.many, changed: &changed, db)
        }
        return true
    }

    /// Writes the queued rows.
    ///
    /// - Parameter changed: as for ``add(_:_:_:)``.
    func flush(_ changed: inout Int, _ db: Database) throws {
        guard let statements else { return }
        defer { rows.removeAll(keepingCapacity: true) }
        for index in rows.indices { try write(rows[index...index], by: statements.one, changed: &changed, db) }
    }

    private func prepare(_ columns: [String]) {
        self.columns = columns
        // Every version of SQLite takes this number of bound values.
        limit = max(1, min(16, 900 / columns.count))
        func statement(_ count: Int) -> KeptStatement {
            KeptStatement(
                sql: RowApply.insert(
                    into: table.name.quotedDatabaseIdentifier, Array(columns.dropFirst()), count: count))
        }
        statements = (statement(limit), statement(1))
    }

    private func write(
        _ rows: ArraySlice<SyncRow>, by statement: KeptStatement, changed: inout Int, _ db: Database
    ) throws {
        try statement.execute(db) { statement in
            memory.clear(reserving: rows.reduce(0) { $0 + $1.cells.byteCount })
            var number: Int32 = 0
            for row in rows {
                row.cells.forEach { _, cell in
                    number += 1
                    memory.bind(cell, to: statement, number: number)
                    return true
                }
            }
        }
        changed += db.changesCount
    }
}

/// A statement that is looked up once. After a failure it is looked up again, since a failed statement cannot be run
/// again.
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

    /// Runs the statement.
    ///
    /// - Parameter bind: binds all values of the statement. The memory that they point to is not read after this call.
    func execute(_ db: Database, _ bind: (SQLiteStatement) -> Void) throws {
        let prepared = try statement ?? self.prepared(db)
        statement = nil
        sqlite3_reset(prepared.sqliteStatement)
        bind(prepared.sqliteStatement)
        defer { sqlite3_clear_bindings(prepared.sqliteStatement) }
        try prepared.execute()
        statement = prepared
    }

    /// Returns the statement with NULL as all of its arguments. Once a statement has arguments, GRDB runs it without
    /// checking them.
    private func prepared(_ db: Database) throws -> Statement {
        let statement = try db.cachedStatement(sql: sql)
        sqlite3_reset(statement.sqliteStatement)
        let count = Int(sqlite3_bind_parameter_count(statement.sqliteStatement))
        try statement.setArguments(StatementArguments(Array(repeating: DatabaseValue.null, count: count)))
        return statement
    }
}

/// A buffer that SQLite reads while a statement runs.
private final class BoundMemory {
    private var bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 4_096, alignment: 1)
    private var count = 0

    deinit { bytes.deallocate() }

    /// Empties the buffer and makes room.
    ///
    /// - Parameter needed: the bytes of all texts and blobs that will be bound.
    func clear(reserving needed: Int) {
        count = 0
        guard needed > bytes.count else { return }
        bytes.deallocate()
        bytes = .allocate(byteCount: needed, alignment: 1)
    }

    /// Binds a value to a statement that was reset. Binding fails for a parameter number that the statement does not
    /// have. It also fails for a value above SQLite's limit, which is a thousand times the limit of a line.
    func bind(_ cell: SyncCells.Cell, to statement: SQLiteStatement, number: Int32) {
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

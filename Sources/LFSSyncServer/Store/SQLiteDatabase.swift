import Foundation
import GRDB
import GRDBSQLite
import LFSSystem

/// A file of SQLite behind a sync server, in WAL mode. Whatever it has confirmed survives a power cut.
public final class SQLiteDatabase: SQLDatabase {
    private let pool: DatabasePool
    private static let closing = BlockingPool(width: 4)

    public var dialect: SQLDialect { .sqlite }

    /// Opens the file, and makes it where there is none. The file has mode 0600 then, also one that was there.
    ///
    /// - Throws: ``SQLFailure``.
    public init(path: String) throws {
        var configuration = Configuration()
        configuration.label = "lfs-sync"
        configuration.busyMode = .timeout(5)
        configuration.maximumReaderCount = 7
        configuration.prepareDatabase { db in
            try db.execute(
                sql: """
                    PRAGMA recursive_triggers = ON;
                    PRAGMA journal_size_limit = 67108864;
                    """)
            // Streams read a page once, and the system has it; kibibytes, for each connection.
            if db.configuration.readonly { try db.execute(sql: "PRAGMA cache_size = -512") }
            db.add(function: SQLiteReal.function)
        }
        do {
            // It holds the rows of all accounts.
            if !path.isEmpty, path != ":memory:", !path.hasPrefix("file:") { try PrivateFile.make(path) }
            pool = try DatabasePool(path: path, configuration: configuration)
            // Not with the other settings: the pool makes it NORMAL when it has opened the file, and then a power cut
            // takes what was confirmed.
            // On Apple platforms a sync reaches the medium only with fullfsync; elsewhere it has no effect.
            try pool.writeWithoutTransaction {
                try $0.execute(sql: "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON")
            }
        } catch {
            throw SQLFailure(sqlite: error)
        }
    }

    public func read<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        // Not the pool's own `read`: that gives its connection back on one of Swift's threads, so that it is never
        // given back when all of them wait for one.
        return try await withCheckedThrowingContinuation { continuation in
            pool.asyncRead { db in
                continuation.resume(
                    with: Result { try body(SQLiteConnection(try db.get())) }.mapError(SQLFailure.converted))
            }
        }
    }

    public func write<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value {
        do {
            return try await pool.write { db in try body(SQLiteConnection(db)) }
        } catch {
            throw SQLFailure.converted(error)
        }
    }

    public func close() async {
        // What it throws says that somebody still reads, and then SQLite closes the connection at their end. It waits
        // for reads, which is nothing for Swift's threads.
        try? await Self.closing.run { [pool] _ in try pool.close() }
    }
}

/// Owner: the queue of the connection.
private struct SQLiteConnection: SQLConnection {
    let db: Database

    init(_ db: Database) { self.db = db }

    var dialect: SQLDialect { .sqlite }

    @discardableResult func execute(_ sql: String, _ arguments: [SQLValue]) throws -> Int {
        try converting {
            let before = db.totalChangesCount
            try db.cachedStatement(sql: sql).execute(arguments: Self.arguments(arguments))
            // Those of triggers count in the total; the last statement's own are its direct ones.
            return db.totalChangesCount == before ? 0 : db.changesCount
        }
    }

    func query(_ sql: String, _ arguments: [SQLValue], _ row: (any SQLRow) throws -> Bool) throws {
        try converting {
            let statement = try db.cachedStatement(sql: sql)
            let rows = try Row.fetchCursor(statement, arguments: Self.arguments(arguments))
            while try rows.next() != nil {
                if try !row(SQLiteRow(statement: statement.sqliteStatement)) { return }
            }
        }
    }

    func run(script: String) throws {
        try converting { try db.execute(sql: script) }
    }

    func savepoint<Value>(_ body: () throws -> Value) throws -> Value {
        var value: Value?
        try db.inSavepoint {
            value = try body()
            return .commit
        }
        guard let value else { throw SQLFailure(.unusable, "A savepoint ended without its end.") }
        return value
    }

    func limited<Value>(
        to duration: Duration, until isOver: @escaping () -> Bool, _ body: () throws -> Value
    ) throws -> Value {
        let check = ProgressCheck(isOver)
        return try withExtendedLifetime(check) {
            // Some milliseconds of work lie between two looks.
            sqlite3_progress_handler(
                db.sqliteConnection, 100_000,
                { context in
                    guard let context else { return 0 }
                    return Unmanaged<ProgressCheck>.fromOpaque(context).takeUnretainedValue().isOver() ? 1 : 0
                }, Unmanaged.passUnretained(check).toOpaque())
            defer { sqlite3_progress_handler(db.sqliteConnection, 0, nil, nil) }
            return try body()
        }
    }

    private func converting<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            throw SQLFailure.converted(error)
        }
    }

    private static func arguments(_ values: [SQLValue]) -> StatementArguments {
        StatementArguments(
            values.map { value in
                switch value {
                case .null: DatabaseValue.null
                case .integer(let value): value.databaseValue
                case .real(let value): value.databaseValue
                case .text(let value): value.databaseValue
                case .blob(let value): Data(value).databaseValue
                }
            })
    }
}

/// The question that SQLite asks while a statement runs.
private final class ProgressCheck {
    let isOver: () -> Bool

    init(_ isOver: @escaping () -> Bool) { self.isOver = isOver }
}

/// The row at which a statement stands, read where it lies: each row of a stream is three values and nothing else.
private struct SQLiteRow: SQLRow {
    let statement: SQLiteStatement

    func integer(_ column: Int) throws -> Int64? {
        switch sqlite3_column_type(statement, Int32(column)) {
        case SQLITE_NULL: return nil
        case SQLITE_INTEGER: return sqlite3_column_int64(statement, Int32(column))
        default: throw SQLFailure(.unusable, "Column \(column) of a result is no integer.")
        }
    }

    func text(_ column: Int) throws -> String? {
        switch sqlite3_column_type(statement, Int32(column)) {
        case SQLITE_NULL: return nil
        case SQLITE_TEXT: return try withBytes(column) { String(decoding: $0, as: UTF8.self) }
        default: throw SQLFailure(.unusable, "Column \(column) of a result is no text.")
        }
    }

    func withBytes<Value>(_ column: Int, _ body: (UnsafeRawBufferPointer) throws -> Value) throws -> Value? {
        guard sqlite3_column_type(statement, Int32(column)) != SQLITE_NULL else { return nil }
        // First this, which makes a text of a number, and only then its length.
        let start = sqlite3_column_blob(statement, Int32(column))
        let count = Int(sqlite3_column_bytes(statement, Int32(column)))
        return try body(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }
}

/// `lfs_real(x)`: a number as JSON, exactly. What SQLite's own functions write has 15 digits.
enum SQLiteReal {
    static let function = DatabaseFunction("lfs_real", argumentCount: 1, pure: true) { values in
        guard case .double(let value) = values[0].storage else { return values[0] }
        if value.isInfinite { return #"{"real":"\#(value < 0 ? "-" : "")Infinity"}"# }
        return value.isNaN ? "null" : "\(value)"
    }
}

extension SQLFailure {
    init(sqlite error: any Error) {
        guard let error = error as? DatabaseError else {
            self.init(.unusable, "\(error)")
            return
        }
        let message = error.message ?? "SQLite has failed with code \(error.extendedResultCode)."
        switch error.resultCode {
        case .SQLITE_CONSTRAINT: self.init(.constraint, message)
        case .SQLITE_MISMATCH, .SQLITE_TOOBIG: self.init(.invalidValue, message)
        case .SQLITE_BUSY, .SQLITE_LOCKED: self.init(.busy, message)
        case .SQLITE_FULL: self.init(.noSpace, message)
        case .SQLITE_INTERRUPT, .SQLITE_ABORT: self.init(.timeout, message)
        case .SQLITE_MISUSE, .SQLITE_CANTOPEN, .SQLITE_IOERR: self.init(.unavailable, message)
        default: self.init(.unusable, message)
        }
    }

    /// An error of SQLite as one of ours; any other stays as it is.
    static func converted(_ error: any Error) -> any Error {
        error is DatabaseError ? SQLFailure(sqlite: error) : error
    }
}

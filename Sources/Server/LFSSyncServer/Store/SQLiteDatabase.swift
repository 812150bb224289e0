import Foundation
import GRDB
import GRDBSQLite
import LFSSystem

/// A SQLite file behind a sync server, in WAL mode. Confirmed transactions survive a power failure.
public final class SQLiteDatabase: SQLDatabase {
    private let pool: DatabasePool
    private let notices: SQLiteNotices
    private static let closing = BlockingPool(width: 4)

    /// The dialect of SQLite.
    public var dialect: SQLDialect { .sqlite }

    /// Opens the file, and creates it if it is missing. Sets its mode to 0600, even if it already existed.
    ///
    /// - Throws: ``SQLFailure``.
    public init(path: String) throws {
        let notices = SQLiteNotices()
        self.notices = notices
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
            // Streams read a page once, and the operating system caches it. The size is in kibibytes, for each
            // connection.
            if db.configuration.readonly {
                try db.execute(sql: "PRAGMA cache_size = -512")
            } else {
                db.add(function: notices.function)
            }
            db.add(function: SQLiteReal.function)
        }
        do {
            // The file contains the rows of all accounts.
            if !path.isEmpty, path != ":memory:", !path.hasPrefix("file:") { try PrivateFile.make(path) }
            pool = try DatabasePool(path: path, configuration: configuration)
            // Set separately, because the pool sets NORMAL after opening the file. With NORMAL, a power failure loses
            // confirmed transactions. On Apple platforms, a sync reaches the medium only with fullfsync. On others,
            // fullfsync has no effect.
            try pool.writeWithoutTransaction {
                try $0.execute(sql: "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON")
            }
        } catch {
            throw SQLFailure(sqlite: error)
        }
    }

    /// Reads from one snapshot of the file. Up to seven reads run concurrently, also during a write.
    ///
    /// - Throws: ``SQLFailure``, `CancellationError`, and errors of the closure.
    public func read<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        // The pool's own `read` releases its connection on one of Swift's threads. If all of them wait for a
        // connection, it would never be released.
        return try await withCheckedThrowingContinuation { continuation in
            pool.asyncRead { db in
                continuation.resume(
                    with: Result { try body(SQLiteConnection(try db.get())) }.mapError(SQLFailure.converted))
            }
        }
    }

    /// Writes in one transaction. Writes of the process run one at a time.
    ///
    /// - Throws: ``SQLFailure``, and errors of the closure.
    public func write<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value {
        do {
            let (value, found) = try await pool.write { [notices] db in
                try notices.collect { try body(SQLiteConnection(db)) }
            }
            notices.pass(found)
            return value
        } catch {
            throw SQLFailure.converted(error)
        }
    }

    /// Writes in one transaction, like ``write(_:)``. Other processes wait, so the closure is always called.
    ///
    /// - Throws: ``SQLFailure``, and errors of the closure.
    public func maintain<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value? {
        let value: Value = try await write(body)
        return value
    }

    /// Passes the notices of this process's commits. Returns nil, because those of other processes do not arrive.
    public func observe(_ receive: @escaping @Sendable ([ServerNotice]) -> Void) -> ServerLink? {
        notices.begin(receive)
        pool.asyncWriteWithoutTransaction { db in
            do {
                try db.execute(sql: SQLiteNotices.triggers)
            } catch {
                receive([.missed(cause: "\(SQLFailure(sqlite: error))")])
            }
        }
        return nil
    }

    /// Closes the connections after the current operations have ended, so that a single file remains.
    public func close() async {
        // An error of the pool means that a reader is still active. SQLite then closes the connection when that reader
        // ends. An error of the second connection leaves the WAL for the next start, which loses nothing. Closing waits
        // for reads, which must not block Swift's threads.
        try? await Self.closing.run { [pool] _ in
            try pool.close()
            // A pool closes its readers last, and they are read-only. Only a writable connection that is the last one
            // moves the WAL into the file.
            if FileManager.default.fileExists(atPath: pool.path) { try DatabaseQueue(path: pool.path).close() }
        }
    }
}

/// A connection to SQLite. Owner: the queue of the connection.
struct SQLiteConnection: SQLConnection {
    let db: Database

    init(_ db: Database) { self.db = db }

    var dialect: SQLDialect { .sqlite }

    @discardableResult func execute(_ sql: String, arguments: [SQLValue]) throws -> Int {
        try converting {
            let before = db.totalChangesCount
            try db.cachedStatement(sql: sql).execute(arguments: Self.arguments(arguments))
            // The total includes changes by triggers. `changesCount` has only the direct changes of the last statement.
            return db.totalChangesCount == before ? 0 : db.changesCount
        }
    }

    func query(_ sql: String, arguments: [SQLValue], _ row: (any SQLRow) throws -> Bool) throws {
        try converting {
            let statement = try db.cachedStatement(sql: sql)
            let rows = try Row.fetchCursor(statement, arguments: Self.arguments(arguments))
            while try rows.next() != nil {
                if try !row(SQLiteRow(statement: statement.sqliteStatement)) { return }
            }
        }
    }

    func query(
        _ sql: String, arguments: [SQLValue], columns: [SQLColumn], _ row: (any SQLRow) throws -> Void
    ) throws {
        try converting {
            let statement = try db.cachedStatement(sql: sql)
            for index in 0..<(columns.first?.values.count ?? 0) {
                let values = arguments + columns.map { $0.values[index] }
                guard statement.columnCount > 0 else {
                    try statement.execute(arguments: Self.arguments(values))
                    continue
                }
                let rows = try Row.fetchCursor(statement, arguments: Self.arguments(values))
                while try rows.next() != nil { try row(SQLiteRow(statement: statement.sqliteStatement)) }
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
        guard let value else { throw SQLFailure(.unusable, message: "A savepoint returned no value.") }
        return value
    }

    func limited<Value>(
        to duration: Duration, until isOver: @escaping () -> Bool, _ body: () throws -> Value
    ) throws -> Value {
        let check = ProgressCheck(isOver)
        return try withExtendedLifetime(check) {
            // Some milliseconds of work pass between two checks.
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

/// The check that SQLite calls while a statement runs.
private final class ProgressCheck {
    let isOver: () -> Bool

    init(_ isOver: @escaping () -> Bool) { self.isOver = isOver }
}

extension SQLiteConnection {
    /// Passes the values of each row to a closure, by the kinds in which the file stores them.
    func values(of sql: String, _ row: ([SQLValue]) throws -> Void) throws {
        try query(sql, arguments: []) { current in
            guard let current = current as? SQLiteRow else { return false }
            try row(try current.values())
            return true
        }
    }
}

/// The current row of a statement, read in place. Each row of a stream has only three values.
private struct SQLiteRow: SQLRow {
    let statement: SQLiteStatement

    func integer(_ column: Int) throws -> Int64? {
        switch sqlite3_column_type(statement, Int32(column)) {
        case SQLITE_NULL: return nil
        case SQLITE_INTEGER: return sqlite3_column_int64(statement, Int32(column))
        default: throw SQLFailure(.unusable, message: "Column \(column) of a result is not an integer.")
        }
    }

    func text(_ column: Int) throws -> String? {
        switch sqlite3_column_type(statement, Int32(column)) {
        case SQLITE_NULL: return nil
        case SQLITE_TEXT: return try withBytes(column) { String(decoding: $0, as: UTF8.self) }
        default: throw SQLFailure(.unusable, message: "Column \(column) of a result is not a text.")
        }
    }

    func withBytes<Value>(_ column: Int, _ body: (UnsafeRawBufferPointer) throws -> Value) throws -> Value? {
        guard sqlite3_column_type(statement, Int32(column)) != SQLITE_NULL else { return nil }
        // The blob comes first, because it converts a number to text. The length is correct only after that.
        let start = sqlite3_column_blob(statement, Int32(column))
        let count = Int(sqlite3_column_bytes(statement, Int32(column)))
        return try body(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }

    func values() throws -> [SQLValue] {
        try (0..<Int(sqlite3_column_count(statement))).map { column in
            switch sqlite3_column_type(statement, Int32(column)) {
            case SQLITE_INTEGER: .integer(sqlite3_column_int64(statement, Int32(column)))
            case SQLITE_FLOAT: .real(sqlite3_column_double(statement, Int32(column)))
            case SQLITE_TEXT: try text(column).map { .text($0) } ?? .null
            case SQLITE_BLOB: try withBytes(column) { .blob(Array($0)) } ?? .null
            default: .null
            }
        }
    }
}

/// The function `lfs_real(x)`, which writes a number as JSON exactly. SQLite's own functions write 15 digits.
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
            self.init(.unusable, message: "\(error)")
            return
        }
        let message = error.message ?? "SQLite has failed with code \(error.extendedResultCode)."
        switch error.resultCode {
        case .SQLITE_CONSTRAINT: self.init(.constraint, message: message)
        case .SQLITE_MISMATCH, .SQLITE_TOOBIG: self.init(.invalidValue, message: message)
        case .SQLITE_BUSY, .SQLITE_LOCKED: self.init(.busy, message: message)
        case .SQLITE_FULL: self.init(.noSpace, message: message)
        case .SQLITE_INTERRUPT, .SQLITE_ABORT: self.init(.timeout, message: message)
        // SQLite has no code for it (https://sqlite.org/limits.html#max_trigger_depth).
        case .SQLITE_ERROR where message.contains("too many levels of trigger recursion"):
            self.init(.timeout, message: message)
        case .SQLITE_MISUSE, .SQLITE_CANTOPEN, .SQLITE_IOERR: self.init(.unavailable, message: message)
        default: self.init(.unusable, message: message)
        }
    }

    /// Converts an error of SQLite. Any other error stays as it is.
    static func converted(_ error: any Error) -> any Error {
        error is DatabaseError ? SQLFailure(sqlite: error) : error
    }
}

/// The database behind a sync server. The same statements run on all databases, except where their ``dialect`` differs.
public protocol SQLDatabase: Sendable {
    /// The dialect of its statements.
    var dialect: SQLDialect { get }

    /// Reads from one state of the database during the whole closure. The closure blocks, and runs on a thread that may
    /// be blocked.
    ///
    /// - Throws: ``SQLFailure``, and errors of the closure.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value

    /// Writes in one transaction. The transaction is durable when this method returns, and rolled back if the closure
    /// throws. If transactions conflict, the closure runs again.
    ///
    /// - Throws: ``SQLFailure``, and errors of the closure.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value

    /// Runs a closure that may take long, while no other process runs one.
    ///
    /// On PostgreSQL, the closure has a connection of its own without time limits, and each statement is a transaction.
    /// On SQLite, the closure is one transaction.
    ///
    /// - Returns: the result of the closure, or nil without calling it if another process runs one now.
    /// - Throws: ``SQLFailure``, and errors of the closure. Earlier statements of the closure may stay in effect.
    func maintain<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value?

    /// Passes notices to a closure from now on: those of the commits of this process, and if possible those of other
    /// processes.
    ///
    /// - Parameter receive: receives notices after the commit, on any thread. It must not block.
    /// - Returns: the link to the other processes. Nil if their notices do not arrive, so the caller has to look for
    ///   their changes itself.
    func observe(_ receive: @escaping @Sendable ([ServerNotice]) -> Void) -> ServerLink?

    /// Closes the connections after the current operations have ended.
    func close() async
}

/// The SQL dialect of a database.
public enum SQLDialect: Sendable, CaseIterable {
    /// SQLite.
    case sqlite
    /// PostgreSQL.
    case postgres
}

/// A connection to a database during a closure, on one thread.
///
/// Statements name their arguments `?1`, `?2` and so on.
public protocol SQLConnection {
    /// The dialect of its statements.
    var dialect: SQLDialect { get }

    /// Runs one statement, which stays prepared.
    ///
    /// - Returns: the number of changed rows.
    /// - Throws: ``SQLFailure``.
    @discardableResult func execute(_ sql: String, arguments: [SQLValue]) throws -> Int

    /// Runs one statement, which stays prepared, and passes each row to a closure without storing it.
    ///
    /// - Parameters:
    ///   - sql: the statement.
    ///   - arguments: the values of `?1`, `?2` and so on.
    ///   - row: called for each row. It returns false to end the statement. The row is valid only during the call.
    /// - Throws: ``SQLFailure``, and errors of the closure.
    func query(_ sql: String, arguments: [SQLValue], _ row: (any SQLRow) throws -> Bool) throws

    /// Runs one statement for many rows, and passes each row of its result to a closure.
    ///
    /// SQLite runs the statement once for each row, with the row's values after the arguments. PostgreSQL runs it once,
    /// with an array for each column after the arguments. Its statement reads them with `unnest`.
    ///
    /// - Parameters:
    ///   - sql: the statement, which stays prepared.
    ///   - arguments: the values of `?1`, `?2` and so on, which are the same for all rows.
    ///   - columns: the values of the next arguments. All columns have the same number of rows.
    ///   - row: called for each row of the result. The row is valid only during the call.
    /// - Throws: ``SQLFailure``, and errors of the closure.
    func query(
        _ sql: String, arguments: [SQLValue], columns: [SQLColumn], _ row: (any SQLRow) throws -> Void) throws

    /// Runs statements without arguments once. They are separated by semicolons.
    ///
    /// - Throws: ``SQLFailure``.
    func run(script: String) throws

    /// Runs a closure and rolls back its changes if it throws. The transaction can then continue. A statement that may
    /// fail needs a savepoint, because PostgreSQL otherwise refuses all later statements of the transaction.
    func savepoint<Value>(_ body: () throws -> Value) throws -> Value

    /// Runs a closure whose statements end with ``SQLFailure/Code/timeout`` if they take too long. Connections that
    /// cannot stop a statement run the closure without a limit.
    ///
    /// - Parameters:
    ///   - duration: the maximum duration of each statement.
    ///   - isOver: returns true if statements have to end now. Connections that can check this during a statement call
    ///     it.
    ///   - body: runs the statements.
    /// - Throws: ``SQLFailure``, and errors of the closure.
    func limited<Value>(
        to duration: Duration, until isOver: @escaping () -> Bool, _ body: () throws -> Value
    ) throws -> Value
}

extension SQLConnection {
    /// Runs the closure without a limit, for databases that cannot stop a statement.
    ///
    /// - Throws: ``SQLFailure``, and errors of the closure.
    public func limited<Value>(
        to duration: Duration, until isOver: @escaping () -> Bool, _ body: () throws -> Value
    ) throws -> Value {
        try body()
    }
}

extension SQLConnection {
    /// Runs the statement once for each row.
    ///
    /// - Throws: ``SQLFailure``, and errors of the closure.
    public func query(
        _ sql: String, arguments: [SQLValue], columns: [SQLColumn], _ row: (any SQLRow) throws -> Void
    ) throws {
        for index in 0..<(columns.first?.values.count ?? 0) {
            try query(sql, arguments: arguments + columns.map { $0.values[index] }) {
                try row($0)
                return true
            }
        }
    }
}

extension SQLConnection {
    /// Returns the first text of a query's first row. Nil if no row was found, or for NULL.
    func firstText(_ sql: String, arguments: [SQLValue]) throws -> String? {
        var found: String?
        try query(sql, arguments: arguments) { row in
            found = try row.text(0)
            return false
        }
        return found
    }
}

/// A row of a result, valid only during a call.
public protocol SQLRow {
    /// Returns an integer, or nil for NULL.
    ///
    /// - Throws: ``SQLFailure`` if the value is not an integer.
    func integer(_ column: Int) throws -> Int64?
    /// Returns a text, or nil for NULL.
    ///
    /// - Throws: ``SQLFailure`` if the value is not a text.
    func text(_ column: Int) throws -> String?
    /// Passes the bytes of a text or BLOB to a closure. Returns nil for NULL.
    func withBytes<Value>(_ column: Int, _ body: (UnsafeRawBufferPointer) throws -> Value) throws -> Value?
}

/// A value for an argument of a statement.
public enum SQLValue: Hashable, Sendable, Codable {
    /// NULL.
    case null
    /// A whole number.
    case integer(Int64)
    /// A floating-point number.
    case real(Double)
    /// A text.
    case text(String)
    /// Bytes.
    case blob([UInt8])
}

/// The values of many rows in one column.
public struct SQLColumn: Hashable, Sendable {
    /// The kinds of values.
    public enum Kind: Hashable, Sendable {
        /// Whole numbers of 64 bits.
        case integer
        /// Floating-point numbers of 64 bits.
        case real
        /// Texts.
        case text
        /// Bytes.
        case blob
    }

    /// The kind of all values except NULL.
    public let kind: Kind
    /// The values, one for each row.
    public var values: [SQLValue]

    init(_ kind: Kind, values: [SQLValue] = []) {
        self.kind = kind
        self.values = values
    }
}

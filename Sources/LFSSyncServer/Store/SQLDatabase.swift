/// The database behind a sync server. One set of statements runs on all of them; where their languages differ, it asks
/// the ``dialect``.
public protocol SQLDatabase: Sendable {
    var dialect: SQLDialect { get }

    /// Reads, from one state of the database for the whole closure. The closure blocks, and runs on a thread that may
    /// be blocked.
    ///
    /// - Throws: ``SQLFailure``, and what the closure throws.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value

    /// Writes in one transaction, which is durable when this returns, and undone when the closure throws. Where
    /// transactions stand in each other's way, the closure runs again.
    ///
    /// - Throws: ``SQLFailure``, and what the closure throws.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value

    /// Closes the connections. What is under way ends first.
    func close() async
}

/// Whose SQL a database speaks.
public enum SQLDialect: Sendable, CaseIterable {
    case sqlite
    case postgres
}

/// A connection for the time of a closure, on one thread.
///
/// Statements name their arguments `?1`, `?2` and so on.
public protocol SQLConnection {
    var dialect: SQLDialect { get }

    /// Runs one statement, which is kept prepared.
    ///
    /// - Returns: how many rows it has changed.
    /// - Throws: ``SQLFailure``.
    @discardableResult func execute(_ sql: String, _ arguments: [SQLValue]) throws -> Int

    /// Runs one statement, which is kept prepared, and hands over each row as it comes: none is kept.
    ///
    /// - Parameters:
    ///   - sql: the statement.
    ///   - arguments: for `?1`, `?2` and so on.
    ///   - row: is called for each row; false ends the statement. The row counts only within the call.
    /// - Throws: ``SQLFailure``, and what the closure throws.
    func query(_ sql: String, _ arguments: [SQLValue], _ row: (any SQLRow) throws -> Bool) throws

    /// Runs statements that take no arguments, separated by semicolons, once.
    ///
    /// - Throws: ``SQLFailure``.
    func run(script: String) throws

    /// Undoes what the closure did when it throws, and leaves the transaction as it was. Failed statements within a
    /// transaction need one, for PostgreSQL takes nothing more otherwise.
    func savepoint<Value>(_ body: () throws -> Value) throws -> Value

    /// Runs a closure whose statements end with ``SQLFailure/Code/timeout`` once they take too long. Connections that
    /// cannot end a statement run the closure as it is.
    ///
    /// - Parameters:
    ///   - duration: how long each statement may take.
    ///   - isOver: whether statements have to end now, for connections that can ask while one runs.
    ///   - body: runs the statements.
    /// - Throws: ``SQLFailure``, and what the closure throws.
    func limited<Value>(
        to duration: Duration, until isOver: @escaping () -> Bool, _ body: () throws -> Value
    ) throws -> Value
}

extension SQLConnection {
    public func limited<Value>(
        to duration: Duration, until isOver: @escaping () -> Bool, _ body: () throws -> Value
    ) throws -> Value {
        try body()
    }
}

extension SQLConnection {
    /// The first text of a query's first row; nil for none, or NULL.
    func firstText(_ sql: String, _ arguments: [SQLValue]) throws -> String? {
        var found: String?
        try query(sql, arguments) { row in
            found = try row.text(0)
            return false
        }
        return found
    }
}

/// A row of a result, within a call.
public protocol SQLRow {
    /// - Throws: ``SQLFailure`` when the value is no integer.
    func integer(_ column: Int) throws -> Int64?
    /// - Throws: ``SQLFailure`` when the value is no text.
    func text(_ column: Int) throws -> String?
    /// The bytes of a text, or of a BLOB as they are; nil for NULL.
    func withBytes<Value>(_ column: Int, _ body: (UnsafeRawBufferPointer) throws -> Value) throws -> Value?
}

/// A value that a statement takes.
public enum SQLValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])
}

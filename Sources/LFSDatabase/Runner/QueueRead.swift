package import GRDB

extension DatabaseReader {
    /// Reads, and gives the connection back on that connection's own queue. A task that is cancelled reads to the end.
    ///
    /// GRDB's `read` gives it back on one of Swift's threads. When all of them wait for a connection, as reads of the
    /// host that block may, none is ever given back.
    ///
    /// - Throws: ``TableError/Code/closed`` for a connection that was closed; what the body throws.
    package func readOnQueue<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            asyncRead { db in continuation.resume(with: Result { try body(try Self.opened(db)) }) }
        }
    }

    /// GRDB reports a closed connection as a misuse of SQLite, before the body runs.
    private static func opened(_ db: Result<Database, any Error>) throws -> Database {
        do {
            return try db.get()
        } catch let error as DatabaseError where error.resultCode == .SQLITE_MISUSE {
            throw TableError.closed
        }
    }
}

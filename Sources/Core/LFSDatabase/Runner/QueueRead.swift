package import GRDB

extension DatabaseReader {
    /// Reads, and returns the connection on its own queue. The read completes even if the task is cancelled.
    ///
    /// GRDB's `read` returns the connection on one of Swift's threads. If all of those threads wait for a connection,
    /// as in blocking reads of the host, no connection is ever returned.
    ///
    /// - Throws: ``TableError/Code/closed`` for a closed connection, and the errors of the body.
    package func readOnQueue<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            asyncRead { db in continuation.resume(with: Result { try body(try Self.opened(db)) }) }
        }
    }

    /// Detects a closed connection. GRDB reports it as a misuse of SQLite before the body runs.
    private static func opened(_ db: Result<Database, any Error>) throws -> Database {
        do {
            return try db.get()
        } catch let error as DatabaseError where error.resultCode == .SQLITE_MISUSE {
            throw TableError.closed
        }
    }
}

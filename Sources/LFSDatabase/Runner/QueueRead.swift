package import GRDB

extension DatabaseReader {
    /// Reads, and gives the connection back on that connection's own queue. A task that is cancelled reads to the end.
    ///
    /// GRDB's `read` gives it back on one of Swift's threads. When all of them wait for a connection, as reads of the
    /// host that block may, none is ever given back.
    package func readOnQueue<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            asyncRead { db in continuation.resume(with: Result { try body(try db.get()) }) }
        }
    }
}

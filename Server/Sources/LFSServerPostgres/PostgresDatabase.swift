public import LFSSyncServer

/// A database of PostgreSQL behind a sync server: as many servers as are needed use it together.
///
/// Its tables are in the first schema of the connection's `search_path`. TLS is what the URL says by libpq's own
/// options, such as `sslmode=verify-full`; without one libpq encrypts where the server can, and checks nobody's name. A
/// pooler in between has to keep a session's connection: statements are prepared once for each.
public final class PostgresDatabase: SQLDatabase {
    private let pool: PostgresPool
    private let options: PostgresOptions

    public var dialect: SQLDialect { .postgres }

    /// Opens no connection yet.
    ///
    /// - Parameters:
    ///   - url: `postgres://user@host:5432/database?sslmode=verify-full`. The password is in the environment as
    ///     `PGPASSWORD`, or in the file that `PGPASSFILE` names.
    ///   - options: limits, and times to wait.
    /// - Throws: ``LFSSyncServer/SQLFailure`` for a URL that is none, or that has a password.
    public init(url: String, options: PostgresOptions = PostgresOptions()) throws {
        pool = PostgresPool(try PostgresURL(url), options)
        self.options = options
    }

    /// Reads from one snapshot, taken by the closure's first statement. The closure may run again.
    public func read<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value {
        try await transaction("ISOLATION LEVEL REPEATABLE READ READ ONLY", body)
    }

    /// Writes in one transaction. Each of its statements sees what was committed before that statement.
    public func write<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value {
        try await transaction("ISOLATION LEVEL READ COMMITTED READ WRITE", body)
    }

    public func close() async { await pool.close() }

    /// Runs it again when others stood in its way, or when the connection had ended before it was told to commit.
    private func transaction<Value: Sendable>(
        _ words: String, _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value {
        var attempt = 1
        var lostCount = 0
        while true {
            let outcome = try await pool.withWorker { try await $0.transaction(words, body) }
            switch outcome {
            case .done(let value): return value
            case .again(let error, let isLost):
                // One that stood idle may have ended unseen. Each of them is found out once.
                lostCount += isLost ? 1 : 0
                guard attempt < options.attemptLimit, lostCount <= options.connectionLimit else { throw error }
                if !isLost { try await Task.sleep(for: Self.pause(after: attempt)) }
                attempt += 1
            }
        }
    }

    /// Random, up to a time that doubles: two that met do not meet again.
    private static func pause(after attempt: Int) -> Duration {
        .milliseconds(Double.random(in: 1...Double(min(4 << min(attempt, 6), 200))))
    }
}

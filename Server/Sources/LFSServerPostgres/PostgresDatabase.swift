public import LFSSyncServer
import Synchronization

/// A PostgreSQL database behind sync servers. Several servers can share it.
///
/// Its tables are in the first schema of the connection's `search_path`. The URL configures TLS with libpq's
/// parameters. A database on another machine needs an `sslmode`, in the URL or as `PGSSLMODE`. Use `verify-full` unless
/// the network is safe.
///
/// A server that observes the database has one more connection, over which the servers send each other notices about
/// their commits. Other programs that write to the tables send these notices in their own transactions. A program that
/// prepares transactions for two-phase commit must not, and sets `lfs.collects` to `on`. Streams then find its changes
/// within 30 seconds.
///
/// With a connection pooler in front of the database, such as PgBouncer in transaction mode, `directURL` is the URL of
/// PostgreSQL itself. Only the connection for notices uses it. The transactions then prepare no statements, and set
/// their settings themselves, because each may run in another session.
public final class PostgresDatabase: SQLDatabase {
    let pool: PostgresPool
    /// The URL of the connection for notices.
    private let directURL: PostgresURL
    private let options: PostgresOptions
    private let exchange = Mutex<NoticeExchange?>(nil)

    public var dialect: SQLDialect { .postgres }

    /// Creates the database without opening a connection.
    ///
    /// - Parameters:
    ///   - url: `postgres://user@host:5432/database?sslmode=verify-full`. The password is in the environment as
    ///     `PGPASSWORD`, or in the file that `PGPASSFILE` names.
    ///   - directURL: the URL of PostgreSQL itself, with the same database and user, if `url` is that of a connection
    ///     pooler. Without it, transactions through a pooler fail.
    ///   - options: the limits and the timeouts.
    /// - Throws: ``LFSSyncServer/SQLFailure`` if a URL is invalid or has a password, or if it refers to another
    ///   machine and no `sslmode` is set.
    public init(url: String, directURL: String? = nil, options: PostgresOptions = PostgresOptions()) throws {
        let poolURL = try PostgresURL(url, pooling: directURL == nil ? .none : .byTransaction)
        self.directURL = try directURL.map { try PostgresURL($0, pooling: .bySession) } ?? poolURL
        pool = PostgresPool(poolURL, options: options)
        self.options = options
    }

    /// Reads from one snapshot, which the closure's first statement takes. The closure may run again.
    public func read<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value {
        try await transaction("ISOLATION LEVEL REPEATABLE READ READ ONLY", exchange: nil, body)
    }

    /// Runs a closure in one transaction. Each statement sees what others have committed before it. The closure may run
    /// again.
    public func write<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value {
        try await transaction(
            "ISOLATION LEVEL READ COMMITTED READ WRITE", exchange: exchange.withLock { $0 }, body)
    }

    /// Runs a closure on a new connection to PostgreSQL itself, outside of a transaction, unless another process runs
    /// one.
    ///
    /// A connection that waits for a lock would keep the statements of the other process from their end, so the caller
    /// has to try again later instead.
    public func maintain<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value? {
        var unlimited = options
        unlimited.lockTimeout = .zero
        unlimited.statementTimeout = .zero
        return try await PostgresWorker(directURL, options: unlimited).maintain(body)
    }

    /// Passes the notices of all servers to a closure. Opens the connection for notices.
    public func observe(_ receive: @escaping @Sendable ([ServerNotice]) -> Void) -> ServerLink? {
        let new = NoticeExchange(directURL, options: options, receive: receive)
        exchange.withLock { $0 = new }
        return ServerLink(
            announce: { new.send([$0]) }, takeTurn: { try await new.takeTurn($0) }, endTurn: { await new.endTurn($0) })
    }

    public func close() async {
        await pool.close()
        await exchange.withLock { $0 }?.close()
    }

    /// Runs the closure in a transaction. Repeats it after a conflict with other transactions, or if the connection
    /// ended before the commit.
    ///
    /// - Parameters:
    ///   - words: the text after `BEGIN`.
    ///   - exchange: receives the notices about the changes of the transaction.
    private func transaction<Value: Sendable>(
        _ words: String, exchange: NoticeExchange?, _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value {
        var attempt = 1
        var lostCount = 0
        while true {
            let outcome = try await pool.withWorker {
                try await $0.transaction(words, collectsNotices: exchange != nil, body)
            }
            switch outcome {
            case .done(let value, let notices):
                if !notices.isEmpty { exchange?.post(notices) }
                return value
            case .again(let error, let isLost):
                // An idle connection may have ended unnoticed. Each lost connection is detected once.
                lostCount += isLost ? 1 : 0
                guard attempt < options.attemptLimit, lostCount <= options.connectionLimit else { throw error }
                if !isLost { try await Task.sleep(for: Self.pause(after: attempt)) }
                attempt += 1
            }
        }
    }

    /// Returns a random pause with an upper bound that doubles, so that two conflicting transactions do not meet again.
    private static func pause(after attempt: Int) -> Duration {
        .milliseconds(Double.random(in: 1...Double(min(4 << min(attempt, 6), 200))))
    }
}

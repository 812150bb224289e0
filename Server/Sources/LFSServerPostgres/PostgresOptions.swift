/// How a server uses PostgreSQL.
public struct PostgresOptions: Sendable {
    /// Connections at most. They are opened when they are needed.
    public var connectionLimit = 8
    /// How long a request waits for a connection that is free.
    public var patience: Duration = .seconds(10)
    /// How long a statement waits for the lock of another transaction: writers of one account take turns.
    public var lockTimeout: Duration = .seconds(5)
    /// How long a statement may take.
    public var statementTimeout: Duration = .seconds(60)
    /// How long a transaction may stand idle before the database ends it.
    public var idleTimeout: Duration = .seconds(60)
    /// How often a transaction runs that others stand in the way of.
    public var attemptLimit = 10
    /// Statements that a connection keeps prepared.
    public var preparedLimit = 256

    public init() {}
}

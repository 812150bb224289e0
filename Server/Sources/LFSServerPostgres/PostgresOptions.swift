/// Options for the use of PostgreSQL.
public struct PostgresOptions: Sendable {
    /// The maximum number of connections. They are opened on demand. The default is 8.
    public var connectionLimit = 8
    /// The time that a request waits for a free connection. The default is 10 seconds.
    public var patience: Duration = .seconds(10)
    /// The time that a statement waits for the lock of another transaction, because writers of one account run in
    /// sequence. The default is 5 seconds.
    public var lockTimeout: Duration = .seconds(5)
    /// The time limit of a statement. The default is 60 seconds.
    public var statementTimeout: Duration = .seconds(60)
    /// The time after which the database ends an idle transaction. The default is 60 seconds.
    public var idleTimeout: Duration = .seconds(60)
    /// The maximum number of attempts of a transaction that conflicts with others. The default is 10.
    public var attemptLimit = 10
    /// The maximum number of prepared statements that a connection keeps. The default is 256.
    public var preparedLimit = 256

    /// Creates options with the default values.
    public init() {}
}

/// The use of the connections of a ``PostgresDatabase`` at one moment.
public struct PostgresPoolStatus: Sendable, Hashable {
    /// The maximum number of connections.
    public let limit: Int
    /// The number of connections that a transaction uses.
    public let usedCount: Int
    /// The number of transactions that wait for a connection.
    public let waitingCount: Int
}

extension PostgresDatabase {
    /// The use of the connections at this moment.
    public var poolStatus: PostgresPoolStatus { pool.status }
}

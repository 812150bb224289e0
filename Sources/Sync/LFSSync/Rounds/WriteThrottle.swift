/// A limit for the lines of a transaction, so that other writers do not wait for long. A transaction takes all
/// available lines while no one else writes, and only a few once another writer appears.
///
/// Other writers are detected by the changes that the connection has counted. Source: SQLite, `sqlite3_total_changes`.
struct WriteThrottle: Sendable {
    /// The number of lines in a short transaction, which takes a fraction of a millisecond.
    static let shortLimit = 64
    /// The number of transactions that stay short after another write, about as many as fit into a tenth of a second.
    static let patience = 200

    /// The connection's count at the end of the last transaction.
    private var changes: Int?
    /// The number of transactions that will still be short.
    private var shortCount = 0

    var lineLimit: Int { shortCount > 0 ? Self.shortLimit : .max }

    /// Starts a transaction.
    ///
    /// - Parameter changes: the connection's count when the transaction begins.
    mutating func begin(_ changes: Int) {
        if let last = self.changes, last != changes {
            shortCount = Self.patience
        } else {
            shortCount = max(0, shortCount - 1)
        }
    }

    /// Ends a transaction.
    ///
    /// - Parameter changes: the connection's count after the transaction's lines.
    mutating func end(_ changes: Int) { self.changes = changes }
}

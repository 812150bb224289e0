/// How many lines a transaction takes, so that others who write do not wait for long: all that have come while nobody
/// else writes, and few as soon as somebody does.
///
/// It goes by the changes that a connection has counted. Source: SQLite, `sqlite3_total_changes`.
struct WriterPace: Sendable {
    /// A fraction of a millisecond.
    static let shortLimit = 64
    /// Transactions that stay short after somebody has written: about as many as a tenth of a second has.
    static let patience = 200

    /// As of the end of the last transaction.
    private var changes: Int?
    /// Transactions that are to be short.
    private var shortCount = 0

    var lineLimit: Int { shortCount > 0 ? Self.shortLimit : .max }

    /// - Parameter changes: what the connection has counted when a transaction begins.
    mutating func begin(_ changes: Int) {
        if let last = self.changes, last != changes {
            shortCount = Self.patience
        } else {
            shortCount = max(0, shortCount - 1)
        }
    }

    /// - Parameter changes: the same at the end of its lines.
    mutating func end(_ changes: Int) { self.changes = changes }
}

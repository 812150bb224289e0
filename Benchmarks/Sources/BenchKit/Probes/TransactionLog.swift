/// Finds, in the statements of one connection, how long each transaction of others than the host kept the writer.
///
/// A transaction lasts from its `BEGIN` to the end of its `COMMIT`, with what SQLite does at its end, such as a
/// checkpoint. It is the host's when a statement in it names the host's table.
package struct TransactionLog: Sendable {
    private let hostTable: String
    private var begin: ContinuousClock.Instant?
    private var isHosts = false
    /// Of each transaction that was not the host's, in seconds.
    package private(set) var durations: [Double] = []

    package init(hostTable: String) { self.hostTable = hostTable }

    /// A statement is about to run.
    package mutating func starts(_ sql: String, at time: ContinuousClock.Instant) {
        if sql.hasPrefix("BEGIN") {
            begin = time
            isHosts = false
        } else if !isHosts, sql.contains(hostTable) {
            isHosts = true
        }
    }

    /// A statement has run.
    package mutating func ends(_ sql: String, at time: ContinuousClock.Instant) {
        guard sql.hasPrefix("COMMIT") || sql.hasPrefix("ROLLBACK"), let begin else { return }
        if !isHosts { durations.append((time - begin) / .seconds(1)) }
        self.begin = nil
    }
}

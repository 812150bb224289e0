/// A log that computes from the statements of one connection how long other transactions than the host's blocked the
/// writer.
///
/// A transaction lasts from its `BEGIN` to the end of its `COMMIT`, including a checkpoint that SQLite may run. It
/// belongs to the host if one of its statements names the host's table.
package struct TransactionLog: Sendable {
    private let hostTable: String
    private var begin: ContinuousClock.Instant?
    private var isHosts = false
    /// The durations of all transactions that did not belong to the host, in seconds.
    package private(set) var durations: [Double] = []

    package init(hostTable: String) { self.hostTable = hostTable }

    /// Records the start of a statement.
    package mutating func starts(_ sql: String, at time: ContinuousClock.Instant) {
        if sql.hasPrefix("BEGIN") {
            begin = time
            isHosts = false
        } else if !isHosts, sql.contains(hostTable) {
            isHosts = true
        }
    }

    /// Records the end of a statement.
    package mutating func ends(_ sql: String, at time: ContinuousClock.Instant) {
        guard sql.hasPrefix("COMMIT") || sql.hasPrefix("ROLLBACK"), let begin else { return }
        if !isHosts { durations.append((time - begin) / .seconds(1)) }
        self.begin = nil
    }
}

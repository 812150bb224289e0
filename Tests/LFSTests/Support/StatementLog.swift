import Synchronization

/// The statements that a connection has run. Owner: the mutex.
final class StatementLog: Sendable {
    private let statements = Mutex<[String]>([])

    var selects: Int { statements.withLock { $0.count { $0.uppercased().hasPrefix("SELECT") } } }

    func add(_ statement: String) { statements.withLock { $0.append(statement) } }
}

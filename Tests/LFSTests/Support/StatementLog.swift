import Synchronization

/// The statements that a connection has run. Owner: the mutex.
final class StatementLog: Sendable {
    private let statements = Mutex<[String]>([])

    /// The queries that read the app's own table; GRDB asks for the schema as well.
    var selects: Int { statements.withLock { $0.count { $0.contains("FROM \"recipe\"") } } }

    func add(_ statement: String) { statements.withLock { $0.append(statement) } }
}

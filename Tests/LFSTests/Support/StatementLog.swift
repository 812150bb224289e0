import Synchronization

/// The statements that a connection has run.
final class StatementLog: Sendable {
    private let statements = Mutex<[String]>([])

    /// The queries that read the app's own table; GRDB asks for the schema as well.
    var selects: Int { statements.withLock { $0.count { $0.contains("FROM \"recipe\"") } } }

    /// Those that name a table of LFS.
    var ofLFS: [String] { statements.withLock { $0.filter { $0.contains("lfs_") } } }

    /// How often something was asked.
    func count(_ part: String) -> Int { statements.withLock { $0.count { $0.contains(part) } } }

    func clear() { statements.withLock { $0 = [] } }

    func add(_ statement: String) { statements.withLock { $0.append(statement) } }
}

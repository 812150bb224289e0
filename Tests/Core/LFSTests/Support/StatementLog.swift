import Synchronization

/// The statements that a connection has run.
final class StatementLog: Sendable {
    private let statements = Mutex<[String]>([])

    /// The number of queries that read the app's own table. GRDB also queries the schema.
    var selects: Int { statements.withLock { $0.count { $0.contains("FROM \"recipe\"") } } }

    /// The statements that name a table of LFS.
    var ofLFS: [String] { statements.withLock { $0.filter { $0.contains("lfs_") } } }

    /// Returns the number of statements that contain a text.
    func count(_ part: String) -> Int { statements.withLock { $0.count { $0.contains(part) } } }

    func clear() { statements.withLock { $0 = [] } }

    func add(_ statement: String) { statements.withLock { $0.append(statement) } }
}

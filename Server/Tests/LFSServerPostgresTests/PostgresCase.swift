import Dispatch
import LFSServerPostgres
import Synchronization
import Testing

@testable import LFSSyncServer

/// A server on PostgreSQL whose transactions a test can hold open and inspect.
struct PostgresCase: Sendable {
    let url: String
    let schema: String
    let database: PostgresDatabase
    let server: TestServer

    static func run(
        _ options: PostgresOptions = .patient, _ body: (PostgresCase) async throws -> Void
    ) async throws {
        try await TestStore.run { url, schema in
            let database = try TestStore.database(url, options: options)
            let service = try await SyncService(database, schema: TestServer.schema)
            try await body(
                PostgresCase(
                    url: url, schema: schema, database: database,
                    server: TestServer(database: database, service: service)))
            await database.close()
        }
    }

    /// Returns a statement that inserts a recipe.
    static func recipe(_ id: String, scope: String) -> String {
        "INSERT INTO recipe (id, title, scopeID) VALUES ('\(id)', 'Soup', '\(scope)')"
    }

    /// Returns the number of the test's connections that wait for a lock.
    func waitingCount() async throws -> Int {
        let count = try await server.text(
            """
            SELECT count(*) || '' FROM pg_stat_activity
            WHERE application_name = '\(schema)' AND wait_event_type = 'Lock'
            """)
        return count.flatMap { Int($0) } ?? 0
    }

    func awaitWaiting(_ count: Int) async throws {
        while try await waitingCount() < count { try Task.checkCancellation() }
    }

    /// Runs statements in a transaction that stays open.
    func hold(_ statements: String...) async throws -> HeldTransaction {
        try await HeldTransaction(database, statements: statements)
    }
}

/// A transaction that has run its statements and stays open until it is committed or rolled back.
final class HeldTransaction: Sendable {
    private let gate: Gate
    private let task: Task<Void, any Error>

    struct RolledBack: Error {}

    init(_ database: any SQLDatabase, statements: [String]) async throws {
        let gate = Gate()
        let (ready, continuation) = AsyncThrowingStream<Void, any Error>.makeStream()
        task = Task {
            do {
                try await database.write { db in
                    for statement in statements { try db.run(script: statement) }
                    continuation.yield()
                    if gate.wait() { throw RolledBack() }
                }
            } catch {
                continuation.finish(throwing: error)
                throw error
            }
        }
        self.gate = gate
        for try await _ in ready { break }
    }

    func commit() async throws {
        gate.open(rollsBack: false)
        try await task.value
    }

    func rollback() async throws {
        gate.open(rollsBack: true)
        await #expect(throws: RolledBack.self) { try await task.value }
    }
}

/// A gate that a transaction's closure waits for on its own thread.
final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let rollsBack = Mutex(false)

    func open(rollsBack: Bool = false) {
        self.rollsBack.withLock { $0 = rollsBack }
        semaphore.signal()
    }

    /// - Returns: true if the transaction is to be rolled back.
    @discardableResult func wait() -> Bool {
        semaphore.wait()
        // Releases other and later waiters too.
        semaphore.signal()
        return rollsBack.withLock { $0 }
    }
}

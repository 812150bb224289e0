import LFSServerPostgres
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite(
    "A connection pooler in front of PostgreSQL",
    .enabled(if: TestStore.pooler != nil, "Run: Tests/Servers/with pgbouncer -- swift test --package-path Server"),
    .timeLimit(.minutes(10)))
struct PoolerTests {
    /// Returns the ID of the session in which a transaction runs, and the transaction's time limit of statements.
    private static func session(_ database: any SQLDatabase) async throws -> (process: Int64, timeout: String) {
        try await database.write { db in
            var found: (process: Int64, timeout: String) = (0, "")
            let sql = "SELECT pg_backend_pid(), current_setting(?1)"
            try db.query(sql, arguments: [.text("statement_timeout")]) { row in
                found = (try row.integer(0) ?? 0, try row.text(1) ?? "")
                return true
            }
            return found
        }
    }

    @Test("A pooler is refused with advice if the URL of PostgreSQL itself is missing")
    func refused() async throws {
        try await TestStore.run { url, _ in
            let database = try PostgresDatabase(url: try #require(try TestStore.pooled(url)), options: .patient)
            let failure = await #expect(throws: SQLFailure.self) { try await database.read { _ in } }
            #expect(failure?.code == .unusable && failure?.message.contains("--direct-database") == true)
            await database.close()
        }
    }

    @Test("Transactions of two servers share a session, and each has its own settings")
    func shared() async throws {
        try await TestStore.run { url, _ in
            let databases = try [400, 500].map { seconds in
                var options = PostgresOptions.patient
                options.statementTimeout = .seconds(seconds)
                return try TestStore.database(url, options: options)
            }
            var processes: Set<Int64> = []
            for _ in 1...3 {
                for (database, timeout) in zip(databases, ["400s", "500s"]) {
                    let session = try await Self.session(database)
                    #expect(session.timeout == timeout)
                    processes.insert(session.process)
                }
            }
            #expect(processes.count == 1)
            for database in databases { await database.close() }
        }
    }

    @Test("Each transaction of a server may run in another session")
    func turns() async throws {
        try await PostgresCase.run { run in
            let device = try await run.server.device()
            // The pooler opens a session for each, and lends idle sessions in turn.
            let first = try await run.hold("SELECT 1")
            let second = try await run.hold("SELECT 1")
            try await first.commit()
            try await second.commit()
            var processes: Set<Int64> = []
            for number in 1...10 {
                for _ in 1...2 { processes.insert(try await Self.session(run.database).process) }
                try await device.put("RecipeV2", key: "r\(number)", values: ["title": .text("Soup")])
                let items = try await device.sync()
                #expect(items == ["Recipe r\(number)"])
            }
            #expect(processes.count > 1)
        }
    }

    @Test("A change by another program in a shared session reaches a stream without a poll")
    func notices() async throws {
        try await TwoServers.run { servers in
            let device = try await servers.one.device()
            let scope = try await servers.one.scope(of: "ann")
            var stream = try await servers.open(try await servers.one.device())
            for number in 1...5 {
                // A server collects the notices of its own transactions. Those of other programs are sent at once.
                try await device.put("RecipeV2", key: "s\(number)", values: ["title": .text("Soup")])
                #expect(try await servers.text(stream.next()).contains("\"id\":\"s\(number)\""))
                try await servers.execute(PostgresCase.recipe("p\(number)", scope: scope))
                #expect(try await servers.text(stream.next()).contains("\"id\":\"p\(number)\""))
            }
        }
    }
}

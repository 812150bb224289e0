import LFSServerPostgres
import Logging
import Testing

@testable import LFSSyncServer
@testable import LFSWire

/// A statement of a step, and what another transaction has to do so that the statement waits. Pushes do not wait.
struct StepGate: Sendable, CustomTestStringConvertible {
    let lock: String
    let statement: String

    var testDescription: String { statement }

    /// PostgreSQL builds an index after the transactions that have written to its table before.
    static let index = StepGate(
        lock: "LOCK TABLE sync_mutation IN ROW EXCLUSIVE MODE",
        statement: "CREATE INDEX CONCURRENTLY \"\(StoreVersion.nextIndex.name)\"")
    static let batches = StepGate(
        lock: "SELECT 1 FROM sync_mutation FOR UPDATE", statement: "UPDATE sync_mutation SET createdAt")
}

@Suite("Long steps of a migration on PostgreSQL", .timeLimit(.minutes(10)))
struct MigrationStepTests {
    private static let soup: [String: SyncValue] = ["title": .text("Soup")]

    private static func store(
        _ database: any SQLDatabase, version: StoreVersion, clock: any Clock<Duration> = ContinuousClock()
    ) throws -> SyncStore {
        try SyncStore(
            database, schema: TestServer.schema, version: version, logger: Logger(label: "test"), clock: clock)
    }

    /// Starts a server of a version.
    private static func start(_ database: any SQLDatabase, version: StoreVersion) async throws -> TestServer {
        let service = try await SyncService(
            database, schema: TestServer.schema, options: SyncServiceOptions(), logger: Logger(label: "test"),
            times: LiveTimes(), version: version)
        return TestServer(database: database, service: service)
    }

    /// Runs a body with a server of this version, after the next one has made its changes except for the steps. Some
    /// rows are older than these changes.
    private static func run(
        _ body: (_ run: PostgresCase, _ databases: [PostgresDatabase]) async throws -> Void
    ) async throws {
        try await PostgresCase.run { run in
            let device = try await run.server.device()
            for number in 1...3 { try await device.put("RecipeV2", key: "r\(number)", values: soup) }
            let databases = try (0..<3).map { _ in try TestStore.database(run.url) }
            _ = try await databases[0].write { try store(databases[0], version: .next(.postgres)).migrate($0) }
            try await body(run, databases)
            for database in databases { await database.close() }
        }
    }

    /// Requires that a server is complete and works: a push arrives in a new session of the account.
    private static func require(_ server: TestServer, pushes key: String) async throws {
        let account = "account of \(key)"
        let result = try await server.device(of: account).put("RecipeV2", key: key, values: soup)
        #expect(result.outcome.isApplied, "\(result)")
        let items = try await server.device(of: account).sync()
        #expect(items == ["Recipe \(key)"])
    }

    /// Requires that the steps of the next version are done.
    private static func requireDone(_ run: PostgresCase) async throws {
        for version in [StoreVersion.next(.postgres), .current] {
            let pending = try await store(run.database, version: version).pending()
            #expect(pending == [])
        }
        let versions = try await run.server.text("SELECT schemaVersion || ' ' || oldestVersion FROM sync_state")
        #expect(versions == "\(ServerTables.version + 1) \(ServerTables.version)")
        let index = try await run.database.read { try SchemaCatalog.objects($0)[StoreVersion.nextIndex] }
        #expect(index?.hasPrefix("CREATE INDEX") == true)
        let step = try await run.server.text("SELECT name FROM sync_step")
        #expect(step == StoreVersion.nextStep)
    }

    @Test(
        "A long step delays neither pushes nor the starts of older servers",
        arguments: [StepGate.index, .batches])
    func long(_ gate: StepGate) async throws {
        try await Self.run { run, databases in
            let held = try await run.hold(gate.lock)
            let newer = Task { try await Self.start(databases[0], version: .next(.postgres)) }
            try await run.awaitWaiting(for: gate.statement)
            for number in 1...20 { try await Self.require(run.server, pushes: "a\(number)") }
            try await Self.require(try await Self.start(databases[1], version: .current), pushes: "b")
            try await held.commit()
            try await Self.require(try await newer.value, pushes: "c")
            try await Self.requireDone(run)
        }
    }

    @Test("A server waits for the steps of another one for longer than a start may take")
    func wait() async throws {
        try await Self.run { run, databases in
            let held = try await run.hold(StepGate.index.lock)
            let first = Task { try await Self.start(databases[0], version: .next(.postgres)) }
            try await run.awaitWaiting(for: StepGate.index.statement)
            let clock = JumpingClock()
            let second = Task {
                try await Self.store(databases[1], version: .next(.postgres), clock: clock).migrate()
            }
            var number = 0
            while clock.now.offset < .seconds(90) {
                try Task.checkCancellation()
                number += 1
                try await Self.require(run.server, pushes: "a\(number)")
            }
            try await held.commit()
            try await Self.require(try await first.value, pushes: "b")
            #expect(try await second.value == [])
            try await Self.requireDone(run)
        }
    }

    @Test(
        "Servers of both versions start after one has ended in the middle of a step",
        arguments: [StepGate.index, .batches])
    func killed(_ gate: StepGate) async throws {
        try await Self.run { run, databases in
            let held = try await run.hold(gate.lock)
            let newer = Task { try await Self.start(databases[0], version: .next(.postgres)) }
            let process = try await run.awaitWaiting(for: gate.statement)
            try await run.server.execute("SELECT pg_terminate_backend(\(process))")
            await #expect(throws: SQLFailure.self) { try await newer.value }
            let index = try await run.database.read { try SchemaCatalog.objects($0)[StoreVersion.nextIndex] }
            #expect(index?.hasPrefix("INVALID") == (gate.statement == StepGate.index.statement))
            try await Self.require(run.server, pushes: "a")
            try await Self.require(try await Self.start(databases[1], version: .current), pushes: "b")
            try await held.commit()
            try await Self.require(try await Self.start(databases[2], version: .next(.postgres)), pushes: "c")
            try await Self.requireDone(run)
            try await Self.require(try await Self.start(databases[1], version: .current), pushes: "d")
        }
    }

    @Test("An index that PostgreSQL has completed for a server that has ended is used")
    func completed() async throws {
        try await Self.run { run, databases in
            try await run.server.execute(
                "CREATE INDEX \"\(StoreVersion.nextIndex.name)\" ON \"sync_mutation\"(createdAt)")
            try await Self.require(try await Self.start(databases[0], version: .next(.postgres)), pushes: "a")
            try await Self.requireDone(run)
        }
    }

    @Test("Servers that start concurrently run a step once")
    func concurrent() async throws {
        try await Self.run { run, databases in
            let counts = try await withThrowingTaskGroup(of: Int.self) { group in
                for database in databases {
                    let store = try Self.store(database, version: .next(.postgres), clock: JumpingClock())
                    group.addTask { try await store.migrate().count }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(counts.sorted() == [0, 0, 2])
            try await Self.requireDone(run)
        }
    }

    @Test("A migration waits for a current push and does not end in a deadlock")
    func deadlock() async throws {
        try await PostgresCase.run { run in
            try await run.server.device().put("RecipeV2", key: "r1", values: Self.soup)
            var schema = TestServer.schema
            schema.tables[1].columns.append(.init("color", kind: .text, since: 3))
            // The statements change the same tables as a push, in the same order.
            let pushing = WatchedDatabase(run.database)
            let gate = Gate()
            let (ready, continuation) = AsyncStream<Void>.makeStream()
            let push = Task {
                try await pushing.write { db in
                    try db.run(script: "SELECT 1 FROM sync_session FOR NO KEY UPDATE; UPDATE recipe SET servings = 2")
                    continuation.yield()
                    gate.wait()
                    try db.run(script: "UPDATE sync_mutation SET result = result")
                }
            }
            for await _ in ready { break }
            let database = try TestStore.database(run.url)
            let migrating = WatchedDatabase(database)
            let store = try SyncStore(
                migrating, schema: schema, version: .next(.postgres), logger: Logger(label: "test"))
            let migration = Task { try await store.migrate() }
            try await run.awaitWaiting(1)
            gate.open()
            try await push.value
            _ = try await migration.value
            // A deadlock would have repeated one of the transactions. The second one of the migration runs the steps.
            #expect(pushing.transactions == 1 && migrating.transactions == 2)
            await database.close()
        }
    }

    @Test("The index of a new reference is built while servers push")
    func reference() async throws {
        let old = SyncSchema(tables: [.init("recipe", columns: [.init("title", kind: .text, isRequired: true)])])
        var new = old
        new.tables[1].columns.append(
            .init("photoID", kind: .text, parent: .init("lfs_file", onDelete: .setNull), since: 2))
        var shapes: [[SchemaObject.Name: String]] = []
        try await TestStore.run { [new] url, schema in
            let databases = try (0..<2).map { _ in try TestStore.database(url) }
            let server = TestServer(
                database: databases[0], service: try await SyncService(databases[0], schema: old))
            let device = try await server.device()
            try await device.put("RecipeV1", key: "r0", values: Self.soup)
            let store = try SyncStore(databases[1], schema: new)
            let index = "CREATE INDEX CONCURRENTLY \"sync_recipe_photoID\" ON \"recipe\"(\"photoID\")"
            #expect(try await store.pending().last == index)
            // The server ends before the step.
            _ = try await databases[1].write { try store.migrate($0) }
            let run = PostgresCase(url: url, schema: schema, database: databases[0], server: server)
            let held = try await run.hold("LOCK TABLE recipe IN ROW EXCLUSIVE MODE")
            let statements = Task { try await store.migrate() }
            try await run.awaitWaiting(for: index)
            for number in 1...10 { try await device.put("RecipeV1", key: "r\(number)", values: Self.soup) }
            // A server with the schema before starts again.
            _ = try await SyncService(databases[0], schema: old)
            try await held.commit()
            #expect(try await statements.value == [index])
            let pending = try await SyncStore(databases[0], schema: old).pending() + store.pending()
            #expect(pending == [])
            shapes.append(try await databases[1].read { try SchemaCatalog.objects($0) })
            for database in databases { await database.close() }
        }
        try await TestStore.run { [new] database in
            try await SyncStore(database, schema: new).migrate()
            shapes.append(try await database.read { try SchemaCatalog.objects($0) })
        }
        #expect(shapes[0] == shapes[1])
    }
}

extension PostgresCase {
    /// Waits until a statement waits for a lock.
    ///
    /// - Returns: the ID of the process that runs it.
    @discardableResult func awaitWaiting(for statement: String) async throws -> String {
        while true {
            let process = try await server.text(
                """
                SELECT pid || '' FROM pg_stat_activity
                WHERE application_name = '\(schema)' AND wait_event_type = 'Lock' AND starts_with(query, '\(statement)')
                """)
            if let process { return process }
            try Task.checkCancellation()
        }
    }
}

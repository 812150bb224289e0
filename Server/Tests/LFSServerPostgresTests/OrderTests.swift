import LFSServerPostgres
import Synchronization
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Commit order", .timeLimit(.minutes(10)))
struct OrderTests {
    @Test("A row that is stamped first and committed last is not missed by a reader")
    func first() async throws {
        try await PostgresCase.run { run in
            let device = try await run.server.device()
            let scope = try await run.server.scope(of: "ann")
            let first = try await run.hold(PostgresCase.recipe("r1", scope: scope))
            async let second: Void = run.server.execute(PostgresCase.recipe("r2", scope: scope))
            try await run.awaitWaiting(1)
            #expect(try await device.sync() == [])
            try await first.commit()
            try await second
            #expect(try await device.sync() == ["Recipe r1", "Recipe r2"])
        }
    }

    /// Returns the rows that a device receives when one writer pauses between its stamp and the end of its statement,
    /// another one writes, and the device acknowledges.
    private func items(_ mutant: String) async throws -> [String] {
        var items: [String] = []
        try await PostgresCase.run { run in
            let device = try await run.server.device()
            let scope = try await run.server.scope(of: "ann")
            try await run.server.execute(
                """
                CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN PERFORM pg_advisory_xact_lock(hashtext(current_schema())); RETURN NULL; END $$;
                CREATE TRIGGER pause AFTER INSERT ON recipe FOR EACH ROW WHEN (NEW.id = 'r1')
                EXECUTE FUNCTION pause();
                """, mutant)
            let pause = try await run.hold("SELECT pg_advisory_xact_lock(hashtext(current_schema()))")
            async let first: Void = run.server.execute(PostgresCase.recipe("r1", scope: scope))
            try await run.awaitWaiting(1)
            let isDone = Mutex(false)
            async let second: Void = {
                try await run.server.execute(PostgresCase.recipe("r2", scope: scope))
                isDone.withLock { $0 = true }
            }()
            while try await run.waitingCount() < 2 {
                if isDone.withLock({ $0 }) { break }
            }
            items += try await device.sync()
            try await pause.commit()
            try await first
            try await second
            items += try await device.sync()
        }
        return items.sorted()
    }

    @Test("The lock before the stamp prevents the loss of a row")
    func mutant() async throws {
        #expect(try await items("SELECT 1") == ["Recipe r1", "Recipe r2"])
        let stampsWithoutLock = """
            CREATE OR REPLACE FUNCTION sync_next(scope text) RETURNS text LANGUAGE sql
            AS $$ SELECT sync_id(sync_now(), nextval('sync_counter')) $$
            """
        #expect(try await items(stampsWithoutLock) == ["Recipe r2"])
    }

    @Test("Rolled-back transactions and savepoints leave no gap for readers")
    func rollback() async throws {
        try await PostgresCase.run { run in
            let device = try await run.server.device()
            let scope = try await run.server.scope(of: "ann")
            let first = try await run.hold(PostgresCase.recipe("r1", scope: scope))
            async let second: Void = run.server.execute(PostgresCase.recipe("r2", scope: scope))
            try await run.awaitWaiting(1)
            try await first.rollback()
            try await second
            try await run.database.write { db in
                try db.run(script: PostgresCase.recipe("r3", scope: scope))
                let failure = #expect(throws: SQLFailure.self) {
                    try db.savepoint {
                        try db.run(script: PostgresCase.recipe("r4", scope: scope))
                        try db.run(script: PostgresCase.recipe("r3", scope: scope))
                    }
                }
                #expect(failure?.code == .constraint)
                try db.run(script: PostgresCase.recipe("r5", scope: scope))
            }
            #expect(try await device.sync() == ["Recipe r2", "Recipe r3", "Recipe r5"])
            #expect(try await device.sync() == [])
        }
    }

    @Test("A polling reader receives all rows of 64 concurrent writers in order")
    func many() async throws {
        var options = PostgresOptions.patient
        options.connectionLimit = 16
        try await PostgresCase.run(options) { run in
            let device = try await run.server.device()
            let scope = try await run.server.scope(of: "ann")
            let isDone = Mutex(false)
            async let written: Void = {
                try await withThrowingTaskGroup { group in
                    for writer in 0..<64 {
                        group.addTask { try await Self.write(writer, scope: scope, database: run.database) }
                    }
                    try await group.waitForAll()
                }
                isDone.withLock { $0 = true }
            }()
            var items: [String] = []
            var positions: [SyncPosition] = []
            var isLast = false
            repeat {
                isLast = isDone.withLock { $0 }
                let delivery = try await device.delivery()
                items += delivery.items
                positions += delivery.tokens.filter { $0.place.type.name == "Recipe" }.prefix(delivery.items.count)
                    .map(\.position)
                try await device.acknowledge(delivery.tokens)
            } while !isLast
            try await written
            #expect(items.count == 10_048 && Set(items).count == 10_048)
            #expect(zip(positions, positions.dropFirst()).allSatisfy { $0 < $1 })
            #expect(try await device.sync() == [])
        }
    }

    /// Writes 157 rows in transactions of one to eight statements. Every fifth transaction rolls back once before it
    /// succeeds.
    private static func write(_ writer: Int, scope: String, database: PostgresDatabase) async throws {
        var number = 0
        while number < 157 {
            let rows = number..<min(number + 1 + (writer + number) % 8, 157)
            let statements = rows.map { PostgresCase.recipe("w\(writer)-\($0)", scope: scope) }
            if number % 5 == 0 {
                await #expect(throws: HeldTransaction.RolledBack.self) {
                    try await database.write { db in
                        for statement in statements { try db.run(script: statement) }
                        throw HeldTransaction.RolledBack()
                    }
                }
            }
            try await database.write { db in for statement in statements { try db.run(script: statement) } }
            number = rows.upperBound
        }
    }

    @Test("A long transaction blocks only the writers of its own account")
    func accounts() async throws {
        var options = PostgresOptions.patient
        options.lockTimeout = .milliseconds(500)
        try await PostgresCase.run(options) { run in
            let (ann, bob) = (try await run.server.device(), try await run.server.device(of: "bob"))
            let scope = try await run.server.scope(of: "ann")
            let long = try await run.hold(PostgresCase.recipe("r1", scope: scope))
            try await bob.put("RecipeV2", key: "b1", values: ["title": .text("Stew")])
            #expect(try await bob.sync() == ["Recipe b1"])
            #expect(try await ann.sync() == [])
            let failure = await #expect(throws: SQLFailure.self) {
                try await run.server.execute(PostgresCase.recipe("r2", scope: scope))
            }
            #expect(failure?.code == .busy)
            try await long.commit()
            try await run.server.execute(PostgresCase.recipe("r2", scope: scope))
            #expect(try await ann.sync() == ["Recipe r1", "Recipe r2"])
        }
    }

    @Test("A prepared transaction blocks its account until it is committed")
    func prepared() async throws {
        var options = PostgresOptions.patient
        options.lockTimeout = .milliseconds(500)
        try await PostgresCase.run(options) { run in
            let device = try await run.server.device()
            let scope = try await run.server.scope(of: "ann")
            // A prepared transaction cannot notify.
            try await run.server.execute(
                "SET LOCAL lfs.collects = on", PostgresCase.recipe("r1", scope: scope),
                "PREPARE TRANSACTION '\(run.schema)'")
            await #expect(throws: SQLFailure.self) {
                try await run.server.execute(PostgresCase.recipe("r2", scope: scope))
            }
            #expect(try await device.sync() == [])
            try await run.server.execute("COMMIT", "COMMIT PREPARED '\(run.schema)'", "BEGIN")
            try await run.server.execute(PostgresCase.recipe("r2", scope: scope))
            #expect(try await device.sync() == ["Recipe r1", "Recipe r2"])
        }
    }

    @Test("Two writers in a deadlock over two accounts both succeed")
    func deadlock() async throws {
        try await PostgresCase.run { run in
            let (ann, bob) = (try await run.server.device(), try await run.server.device(of: "bob"))
            let scopes = [try await run.server.scope(of: "ann"), try await run.server.scope(of: "bob")]
            let attempts = Mutex(0)
            let gate = Gate()
            let write: @Sendable (String, [String]) async throws -> Void = { name, scopes in
                try await run.database.write { db in
                    let attempt = attempts.withLock { count in
                        count += 1
                        return count
                    }
                    try db.run(script: PostgresCase.recipe("\(name)1", scope: scopes[0]))
                    // The second attempt starts when both writers have written their first row.
                    if attempt == 2 { gate.open() }
                    gate.wait()
                    try db.run(script: PostgresCase.recipe("\(name)2", scope: scopes[1]))
                }
            }
            async let first: Void = write("x", scopes)
            async let second: Void = write("y", scopes.reversed())
            try await first
            try await second
            #expect(attempts.withLock { $0 } >= 3)
            #expect(try await Set(ann.sync()) == ["Recipe x1", "Recipe y2"])
            #expect(try await Set(bob.sync()) == ["Recipe x2", "Recipe y1"])
        }
    }

    @Test("A REPEATABLE READ writer is repeated after a change of its account")
    func repeatable() async throws {
        try await PostgresCase.run { run in
            let device = try await run.server.device()
            let scope = try await run.server.scope(of: "ann")
            let attempts = Mutex(0)
            let (hasBegun, continuation) = AsyncStream<Void>.makeStream()
            let gate = Gate()
            async let writer: Void = run.database.write { db in
                try db.run(script: "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                try db.query("SELECT count(*) FROM recipe", arguments: []) { _ in true }
                attempts.withLock { $0 += 1 }
                continuation.yield()
                gate.wait()
                try db.run(script: PostgresCase.recipe("r1", scope: scope))
            }
            for await _ in hasBegun { break }
            try await run.server.execute(PostgresCase.recipe("r2", scope: scope))
            gate.open()
            try await writer
            #expect(attempts.withLock { $0 } == 2)
            #expect(try await device.sync() == ["Recipe r2", "Recipe r1"])
        }
    }
}

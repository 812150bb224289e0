import LFSServerPostgres
import Synchronization
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("C: order", .timeLimit(.minutes(10)))
struct OrderTests {
    @Test("1, 2 a writer that stamps first and commits last loses nothing to a reader that acknowledges in between")
    func first() async throws {
        try await PostgresCase.run { run in
            let device = try await run.server.device()
            let scope = try await run.server.scope(of: "ann")
            let first = try await run.hold(PostgresCase.recipe("r1", scope))
            async let second: Void = run.server.execute(PostgresCase.recipe("r2", scope))
            try await run.awaitWaiting(1)
            #expect(try await device.sync() == [])
            try await first.commit()
            try await second
            #expect(try await device.sync() == ["Recipe r1", "Recipe r2"])
        }
    }

    /// What a device has got when a writer stands between its stamp and the end of its statement, another one writes,
    /// and the device acknowledges.
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
            async let first: Void = run.server.execute(PostgresCase.recipe("r1", scope))
            try await run.awaitWaiting(1)
            let isDone = Mutex(false)
            async let second: Void = {
                try await run.server.execute(PostgresCase.recipe("r2", scope))
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

    @Test("2 a writer within its statement loses nothing; without the lock before the stamp its row never comes")
    func mutant() async throws {
        #expect(try await items("SELECT 1") == ["Recipe r1", "Recipe r2"])
        let stampsWithoutLock = """
            CREATE OR REPLACE FUNCTION sync_next(scope text) RETURNS text LANGUAGE sql
            AS $$ SELECT sync_id(sync_now(), nextval('sync_counter')) $$
            """
        #expect(try await items(stampsWithoutLock) == ["Recipe r2"])
    }

    @Test("3 of three writers one rolls back; 4 so does a savepoint")
    func rollback() async throws {
        try await PostgresCase.run { run in
            let device = try await run.server.device()
            let scope = try await run.server.scope(of: "ann")
            let first = try await run.hold(PostgresCase.recipe("r1", scope))
            async let second: Void = run.server.execute(PostgresCase.recipe("r2", scope))
            try await run.awaitWaiting(1)
            try await first.rollback()
            try await second
            try await run.database.write { db in
                try db.run(script: PostgresCase.recipe("r3", scope))
                let failure = #expect(throws: SQLFailure.self) {
                    try db.savepoint {
                        try db.run(script: PostgresCase.recipe("r4", scope))
                        try db.run(script: PostgresCase.recipe("r3", scope))
                    }
                }
                #expect(failure?.code == .constraint)
                try db.run(script: PostgresCase.recipe("r5", scope))
            }
            #expect(try await device.sync() == ["Recipe r2", "Recipe r3", "Recipe r5"])
            #expect(try await device.sync() == [])
        }
    }

    @Test(
        "5 64 writers of one account: a reader that polls and acknowledges misses none of 10,000 rows; 15 they ascend")
    func many() async throws {
        var options = PostgresOptions.patient
        options.connectionLimit = 16
        try await PostgresCase.run(options) { run in
            let device = try await run.server.device()
            let scope = try await run.server.scope(of: "ann")
            let isDone = Mutex(false)
            async let written: Void = {
                try await withThrowingTaskGroup { group in
                    for writer in 0..<64 { group.addTask { try await Self.write(writer, scope, run.database) } }
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

    /// 157 rows in transactions of one to eight statements. Each fifth one rolls back before it succeeds.
    private static func write(_ writer: Int, _ scope: String, _ database: PostgresDatabase) async throws {
        var number = 0
        while number < 157 {
            let rows = number..<min(number + 1 + (writer + number) % 8, 157)
            let statements = rows.map { PostgresCase.recipe("w\(writer)-\($0)", scope) }
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

    @Test("6 writers of two accounts do not wait for each other; 7 a long transaction stalls its account alone")
    func accounts() async throws {
        var options = PostgresOptions.patient
        options.lockTimeout = .milliseconds(500)
        try await PostgresCase.run(options) { run in
            let (ann, bob) = (try await run.server.device(), try await run.server.device(of: "bob"))
            let scope = try await run.server.scope(of: "ann")
            let long = try await run.hold(PostgresCase.recipe("r1", scope))
            try await bob.put("RecipeV2", "b1", ["title": .text("Stew")])
            #expect(try await bob.sync() == ["Recipe b1"])
            #expect(try await ann.sync() == [])
            let failure = await #expect(throws: SQLFailure.self) {
                try await run.server.execute(PostgresCase.recipe("r2", scope))
            }
            #expect(failure?.code == .busy)
            try await long.commit()
            try await run.server.execute(PostgresCase.recipe("r2", scope))
            #expect(try await ann.sync() == ["Recipe r1", "Recipe r2"])
        }
    }

    @Test("8 a prepared transaction holds its account until it ends, and then its row comes")
    func prepared() async throws {
        var options = PostgresOptions.patient
        options.lockTimeout = .milliseconds(500)
        try await PostgresCase.run(options) { run in
            let device = try await run.server.device()
            let scope = try await run.server.scope(of: "ann")
            try await run.server.execute(PostgresCase.recipe("r1", scope), "PREPARE TRANSACTION '\(run.schema)'")
            await #expect(throws: SQLFailure.self) {
                try await run.server.execute(PostgresCase.recipe("r2", scope))
            }
            #expect(try await device.sync() == [])
            try await run.server.execute("COMMIT", "COMMIT PREPARED '\(run.schema)'", "BEGIN")
            try await run.server.execute(PostgresCase.recipe("r2", scope))
            #expect(try await device.sync() == ["Recipe r1", "Recipe r2"])
        }
    }

    @Test("9 of two writers that wait for each other's accounts one runs again, and both succeed")
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
                    try db.run(script: PostgresCase.recipe("\(name)1", scopes[0]))
                    // The second one comes when both have their first row.
                    if attempt == 2 { gate.open() }
                    gate.wait()
                    try db.run(script: PostgresCase.recipe("\(name)2", scopes[1]))
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

    @Test("10 a writer with REPEATABLE READ, whose account has moved on, runs again")
    func repeatable() async throws {
        try await PostgresCase.run { run in
            let device = try await run.server.device()
            let scope = try await run.server.scope(of: "ann")
            let attempts = Mutex(0)
            let (hasBegun, continuation) = AsyncStream<Void>.makeStream()
            let gate = Gate()
            async let writer: Void = run.database.write { db in
                try db.run(script: "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                try db.query("SELECT count(*) FROM recipe", []) { _ in true }
                attempts.withLock { $0 += 1 }
                continuation.yield()
                gate.wait()
                try db.run(script: PostgresCase.recipe("r1", scope))
            }
            for await _ in hasBegun { break }
            try await run.server.execute(PostgresCase.recipe("r2", scope))
            gate.open()
            try await writer
            #expect(attempts.withLock { $0 } == 2)
            #expect(try await device.sync() == ["Recipe r2", "Recipe r1"])
        }
    }
}

import LFSServerPostgres
import Synchronization
import Testing

@testable import LFSSyncServer

@Suite("PostgreSQL as a sync database", .timeLimit(.minutes(10)))
struct DatabaseTests {
    private func run(
        _ options: PostgresOptions = .patient,
        _ body: (PostgresDatabase, _ schema: String) async throws -> Void
    ) async throws {
        try await TestStore.run { url, schema in
            let database = try TestStore.database(url, options: options)
            try await database.write { db in
                try db.run(script: "CREATE TABLE t (id BIGINT PRIMARY KEY, a TEXT CHECK (a <> 'bad'))")
            }
            try await body(database, schema)
            await database.close()
        }
    }

    private static func count(_ db: any SQLConnection) throws -> Int64 {
        var count: Int64 = -1
        try db.query("SELECT count(*) FROM t", arguments: []) { row in
            count = try row.integer(0) ?? -1
            return false
        }
        return count
    }

    private static func insert(_ id: Int64, _ db: any SQLConnection, text: String = "") throws {
        try db.execute("INSERT INTO t (id, a) VALUES (?1, ?2)", arguments: [.integer(id), .text(text)])
    }

    @Test("Values of each type are read back unchanged, and changed rows are counted")
    func values() async throws {
        try await run { database, _ in
            try await database.write { db in
                let sql = "SELECT ?1::bigint, ?2::text, ?3::bytea, ?4::float8 = 'Infinity', ?5::text, ?6::float8, '?1'"
                let arguments: [SQLValue] = [
                    .integer(.min), .text("Æ'\n"), .blob([0, 255]), .real(.infinity), .null, .real(.nan),
                ]
                try db.query(sql, arguments: arguments) { row in
                    let blob = try row.withBytes(2) { Array($0) }
                    let (integer, isInfinite) = (try row.integer(0), try row.integer(3))
                    let texts = [try row.text(1), try row.text(4), try row.text(5), try row.text(6)]
                    #expect(integer == .min && isInfinite == 1 && blob == [0, 255])
                    #expect(texts == ["Æ'\n", nil, nil, "?1"])
                    #expect(throws: SQLFailure.self) { try row.text(0) }
                    #expect(throws: SQLFailure.self) { try row.integer(1) }
                    return true
                }
                for id in 1...3 as ClosedRange<Int64> { try Self.insert(id, db) }
                #expect(try db.execute("UPDATE t SET a = 'x' WHERE id > ?1", arguments: [.integer(1)]) == 2)
            }
        }
    }

    /// A function of its own, because the compiler (Swift 6.3.1) confuses one closure with another in a macro's
    /// expansion.
    private static func fail(_ db: any SQLConnection) throws {
        #expect(throws: SQLFailure.self) {
            try db.savepoint {
                try insert(3, db)
                try db.savepoint { try insert(2, db) }
            }
        }
    }

    @Test("An error rolls back the transaction, or only its savepoint")
    func undone() async throws {
        try await run { database, _ in
            await #expect(throws: HeldTransaction.RolledBack.self) {
                try await database.write { db in
                    try Self.insert(1, db)
                    throw HeldTransaction.RolledBack()
                }
            }
            try await database.write { db in
                try Self.insert(2, db)
                try Self.fail(db)
                try db.savepoint { try Self.insert(4, db) }
            }
            let count = try await database.read { try Self.count($0) }
            #expect(count == 2)
        }
    }

    @Test("A transaction that continues after a failed statement is rolled back and fails")
    func swallowed() async throws {
        try await run { database, _ in
            let failure = await #expect(throws: SQLFailure.self) {
                try await database.write { db in
                    try Self.insert(1, db)
                    #expect(throws: SQLFailure.self) { try Self.insert(1, db) }
                }
            }
            #expect(failure?.code == .unusable)
            let count = try await database.read { try Self.count($0) }
            #expect(count == 0)
        }
    }

    @Test("A reader sees one snapshot and cannot write")
    func snapshot() async throws {
        try await run { database, _ in
            let (hasBegun, continuation) = AsyncStream<Void>.makeStream()
            let gate = Gate()
            async let counts = database.read { db in
                let before = try Self.count(db)
                continuation.yield()
                gate.wait()
                return [before, try Self.count(db)]
            }
            for await _ in hasBegun { break }
            try await database.write { try Self.insert(1, $0) }
            gate.open()
            #expect(try await counts == [0, 0])
            await #expect(throws: SQLFailure.self) { try await database.read { try Self.insert(2, $0) } }
        }
    }

    @Test("A lost connection is replaced, and its transaction is repeated")
    func ended() async throws {
        try await run { database, schema in
            let others = """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE application_name = '\(schema)' AND pid <> pg_backend_pid()
                """
            let attempts = Mutex(0)
            let admin = try PostgresDatabase(url: try #require(TestStore.endpoint), options: .patient)
            try await admin.write { try $0.run(script: others) }
            let gate = Gate()
            let (hasBegun, continuation) = AsyncStream<Void>.makeStream()
            async let written: Void = database.write { db in
                attempts.withLock { $0 += 1 }
                try Self.insert(1, db)
                continuation.yield()
                gate.wait()
                try Self.insert(2, db)
            }
            for await _ in hasBegun { break }
            try await admin.write { try $0.run(script: others) }
            gate.open()
            try await written
            await admin.close()
            #expect(attempts.withLock { $0 } == 2)
            let count = try await database.read { try Self.count($0) }
            #expect(count == 2)
        }
    }

    @Test("A cancelled task ends its statement, and the database keeps working")
    func cancelled() async throws {
        try await run { database, schema in
            let sleeper = Task { try await database.write { try $0.run(script: "SELECT pg_sleep(3600)") } }
            let isAsleep =
                "SELECT 1 FROM pg_stat_activity WHERE application_name = '\(schema)' AND wait_event = 'PgSleep'"
            let found = Mutex(false)
            while !found.withLock({ $0 }) {
                try await database.read { db in
                    try db.query(isAsleep, arguments: []) { _ in
                        found.withLock { $0 = true }
                        return false
                    }
                }
            }
            sleeper.cancel()
            await #expect(throws: CancellationError.self) { try await sleeper.value }
            try await database.write { try Self.insert(1, $0) }
        }
    }

    @Test("The pool limits connections, ends cancelled waits, and drains when it closes")
    func pool() async throws {
        var options = PostgresOptions.patient
        options.connectionLimit = 1
        options.patience = .milliseconds(1)
        try await run(options) { database, _ in
            let held = try await HeldTransaction(database, statements: [])
            let failure = await #expect(throws: SQLFailure.self) { try await database.read { _ in } }
            #expect(failure?.code == .busy)
            let late = Task { try await database.read { _ in } }
            late.cancel()
            await #expect(throws: (any Error).self) { try await late.value }
            async let closed: Void = database.close()
            try await held.commit()
            await closed
            let ended = await #expect(throws: SQLFailure.self) { try await database.read { _ in } }
            #expect(ended?.code == .unavailable)
        }
    }

    @Test("A query that stops early leaves the snapshot of its transaction valid")
    func early() async throws {
        try await run { database, _ in
            for _ in 1...3 {
                let found = try await database.read { db in
                    var count = 0
                    try db.query("SELECT repeat('x', 1000) FROM generate_series(1, ?1)", arguments: [.integer(100_000)])
                    { _ in
                        count += 1
                        return count < 3
                    }
                    return (count, try Self.count(db))
                }
                #expect(found == (3, 0))
            }
            await #expect(throws: HeldTransaction.RolledBack.self) {
                try await database.read { db in
                    try db.query("SELECT id FROM generate_series(1, 99) id", arguments: []) { _ in
                        throw HeldTransaction.RolledBack()
                    }
                }
            }
        }
    }

    @Test(
        "A failure has a code, and its message contains no value of a row",
        arguments: [
            ("INSERT INTO t (id) VALUES (NULL)", SQLFailure.Code.constraint),
            ("INSERT INTO t (id, a) VALUES (1, 'bad')", .constraint),
            ("INSERT INTO t (id) VALUES (1), (1)", .constraint), ("SELECT 'secret'::bigint", .invalidValue),
            ("SELECT 9223372036854775807 + 1", .invalidValue), ("SELECT * FROM absent", .unusable),
            ("DO $$ BEGIN RAISE EXCEPTION 'no'; END $$", .constraint), ("SELECT pg_sleep(60)", .timeout),
            ("SELECT set_config('lock_timeout', '-x', false)", .invalidValue),
        ])
    func failures(_ sql: String, code: SQLFailure.Code) async throws {
        var options = PostgresOptions.patient
        options.statementTimeout = .seconds(2)
        try await run(options) { database, _ in
            let failure = await #expect(throws: SQLFailure.self) {
                try await database.write { try $0.run(script: sql) }
            }
            #expect(
                failure?.code == code && failure?.message.contains("secret") == false, "\(String(describing: failure))")
        }
    }

    @Test("A text with a NUL is refused, and an unreachable server is reported")
    func refused() async throws {
        try await run { database, _ in
            let failure = await #expect(throws: SQLFailure.self) {
                try await database.write { try Self.insert(1, $0, text: "a\u{0}b") }
            }
            #expect(failure?.code == .invalidValue)
        }
        let absent = try PostgresDatabase(url: "postgres://nobody@127.0.0.1:1/none")
        let failure = await #expect(throws: SQLFailure.self) { try await absent.read { _ in } }
        #expect(failure?.code == .unavailable)
        await absent.close()
    }

    @Test(
        "A URL with a password or with a wrong form is refused with advice",
        arguments: [
            ("postgres://ann:secret@127.0.0.1/x", "PGPASSWORD"), ("postgres://a@h/x?password=secret", "PGPASSWORD"),
            ("host=127.0.0.1 password=secret", "postgres://"), ("postgres://a@h/x?secret=1", "option"),
        ])
    func urls(_ url: String, words: String) throws {
        let failure = #expect(throws: SQLFailure.self) { try PostgresDatabase(url: url) }
        #expect(failure?.message.contains(words) == true && failure?.message.contains("secret") == false)
    }
}

import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Positions after clock changes", .timeLimit(.minutes(10)))
struct ClockTests {
    private static let now: Int64 = 1_800_000_000_000

    /// Sets the database's clock to a fixed time.
    private static func set(_ millis: Int64, run: PostgresCase) async throws {
        try await run.server.execute(
            "CREATE OR REPLACE FUNCTION sync_now() RETURNS bigint LANGUAGE sql AS $$ SELECT \(millis)::bigint $$")
    }

    @Test(
        "Positions ascend and no row is missed when the clock goes back",
        arguments: [3_600_000, 31_536_000_000 as Int64])
    func back(_ millis: Int64) async throws {
        try await PostgresCase.run { run in
            let device = try await run.server.device()
            for (number, now) in [Self.now, Self.now - millis, Self.now - millis + 1, Self.now + 1].enumerated() {
                try await Self.set(now, run: run)
                try await device.put("RecipeV2", key: "r\(number)", values: ["title": .text("Soup")])
                #expect(try await device.sync() == ["Recipe r\(number)"])
            }
        }
    }

    @Test("No row is missed when the clock goes back within a statement")
    func within() async throws {
        try await PostgresCase.run { run in
            let device = try await run.server.device()
            let scope = try await run.server.scope(of: "ann")
            try await run.server.execute(
                """
                CREATE SEQUENCE back;
                CREATE OR REPLACE FUNCTION sync_now() RETURNS bigint LANGUAGE sql AS
                $$ SELECT \(Self.now) - nextval('back') $$;
                INSERT INTO recipe (id, title, scopeID) SELECT 'r' || i, 'Soup', '\(scope)' FROM generate_series(1, 9) i
                """)
            #expect(try await device.sync().count == 9)
            try await device.put("RecipeV2", key: "r10", values: ["title": .text("Soup")])
            #expect(try await device.sync() == ["Recipe r10"])
        }
    }

    @Test("Positions ascend when the counter passes a power of two within a millisecond", arguments: [12, 16, 30])
    func counter(_ bits: Int) async throws {
        try await PostgresCase.run { run in
            let device = try await run.server.device()
            let scope = try await run.server.scope(of: "ann")
            try await Self.set(Self.now, run: run)
            try await run.server.execute("SELECT setval('sync_counter', \((1 as Int64) << bits - 5))")
            for number in 1...9 { try await run.server.execute(PostgresCase.recipe("r\(number)", scope: scope)) }
            let delivery = try await device.delivery()
            #expect(delivery.items == (1...9).map { "Recipe r\($0)" })
            #expect(delivery.tokens.allSatisfy { $0.position == .start || $0.position.text.utf8.count == 36 })
        }
    }

    @Test("Positions continue after the head if the counter was reset")
    func lost() async throws {
        try await PostgresCase.run { run in
            let device = try await run.server.device()
            try await Self.set(Self.now, run: run)
            try await run.server.execute("SELECT setval('sync_counter', 1000)")
            try await device.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
            try await device.sync()
            try await run.server.execute("SELECT setval('sync_counter', 0)")
            try await device.put("RecipeV2", key: "r2", values: ["title": .text("Soup")])
            #expect(try await device.sync() == ["Recipe r2"])
        }
    }
}

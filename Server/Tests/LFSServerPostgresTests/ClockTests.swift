import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("C: the clock and the counter", .timeLimit(.minutes(10)))
struct ClockTests {
    private static let now: Int64 = 1_800_000_000_000

    /// Makes the database's clock stand.
    private static func set(_ millis: Int64, _ run: PostgresCase) async throws {
        try await run.server.execute(
            "CREATE OR REPLACE FUNCTION sync_now() RETURNS bigint LANGUAGE sql AS $$ SELECT \(millis)::bigint $$")
    }

    @Test(
        "11 the clock goes back by an hour; 13 it was ahead by a year: positions ascend, and nothing is missed",
        arguments: [3_600_000, 31_536_000_000 as Int64])
    func back(_ millis: Int64) async throws {
        try await PostgresCase.run { run in
            let device = try await run.server.device()
            for (number, now) in [Self.now, Self.now - millis, Self.now - millis + 1, Self.now + 1].enumerated() {
                try await Self.set(now, run)
                try await device.put("RecipeV2", "r\(number)", ["title": .text("Soup")])
                #expect(try await device.sync() == ["Recipe r\(number)"])
            }
        }
    }

    @Test("12 the clock goes back within a statement")
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
            try await device.put("RecipeV2", "r10", ["title": .text("Soup")])
            #expect(try await device.sync() == ["Recipe r10"])
        }
    }

    @Test("14 the counter passes 2^12, 2^16 and 2^30 in one millisecond", arguments: [12, 16, 30])
    func counter(_ bits: Int) async throws {
        try await PostgresCase.run { run in
            let device = try await run.server.device()
            let scope = try await run.server.scope(of: "ann")
            try await Self.set(Self.now, run)
            try await run.server.execute("SELECT setval('sync_counter', \((1 as Int64) << bits - 5))")
            for number in 1...9 { try await run.server.execute(PostgresCase.recipe("r\(number)", scope)) }
            let delivery = try await device.delivery()
            #expect(delivery.items == (1...9).map { "Recipe r\($0)" })
            #expect(delivery.tokens.allSatisfy { $0.position == .start || $0.position.text.utf8.count == 36 })
        }
    }

    @Test("Tables that were put back without the counter go on behind their head")
    func lost() async throws {
        try await PostgresCase.run { run in
            let device = try await run.server.device()
            try await Self.set(Self.now, run)
            try await run.server.execute("SELECT setval('sync_counter', 1000)")
            try await device.put("RecipeV2", "r1", ["title": .text("Soup")])
            try await device.sync()
            try await run.server.execute("SELECT setval('sync_counter', 0)")
            try await device.put("RecipeV2", "r2", ["title": .text("Soup")])
            #expect(try await device.sync() == ["Recipe r2"])
        }
    }
}

import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Clock and counter of SQLite", .timeLimit(.minutes(10)))
struct CounterTests {
    @Test("The counter passes 2^12, 2^16 and 2^30 within one millisecond", arguments: [12, 16, 30])
    func counter(_ bits: Int) async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            // A time that the database's own clock never reaches.
            try await server.execute("UPDATE sync_scope SET clock = 9000000000000, counter = \((1 << bits) - 5)")
            for number in 1...9 {
                try await device.put("RecipeV2", key: "r\(number)", values: ["title": .text("Soup")])
            }
            let delivery = try await device.delivery()
            #expect(delivery.items == (1...9).map { "Recipe r\($0)" })
            #expect(delivery.tokens.allSatisfy { $0.position == .start || $0.position.text.utf8.count == 36 })
            #expect(try await server.text("SELECT max(counter) || '' FROM sync_scope") == "\((1 << bits) + 4)")
        }
    }

    @Test("Rows of a statement during which the clock goes back all arrive in order")
    func within() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let scope = try await server.scope(of: "ann")
            // Each row finds the scope's clock ahead of the database's own clock.
            try await server.execute(
                """
                CREATE TRIGGER back AFTER INSERT ON recipe WHEN NEW.id < 'r6'
                BEGIN UPDATE sync_scope SET clock = clock + 5; END;
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9)
                INSERT INTO recipe (id, title, scopeID) SELECT 'r' || i, 'Soup', '\(scope)' FROM n
                """)
            #expect(try await device.sync() == (1...9).map { "Recipe r\($0)" })
            try await device.put("RecipeV2", key: "r10", values: ["title": .text("Soup")])
            #expect(try await device.sync() == ["Recipe r10"])
        }
    }
}

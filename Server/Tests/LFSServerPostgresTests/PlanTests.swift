import LFSServerPostgres
import Testing

@testable import LFSSyncServer

@Suite("N 6: plans on PostgreSQL", .timeLimit(.minutes(5)))
struct PlanTests {
    @Test(
        "A page reads no more rows than it has, planned for its values or for any",
        arguments: ["force_custom_plan", "force_generic_plan"])
    func page(_ mode: String) async throws {
        try await PostgresCase.run { run in
            _ = try await run.server.device()
            let scope = try await run.server.scope(of: "ann")
            let table = try #require(try CheckedSchema(TestServer.schema).tables.first { $0.name == "recipe" })
            let page = TableSQL(table: table, dialect: .postgres).ownPage(version: 2)
            try await run.server.execute(
                """
                INSERT INTO recipe (id, title, scopeID)
                SELECT 'r' || i, 'Soup', '\(scope)' FROM generate_series(1, 20000) i
                """, "DELETE FROM recipe WHERE id LIKE 'r1%'", "ANALYZE recipe, sync_tombstone")
            let plan = try await run.database.read { db in
                try db.run(script: "SET LOCAL plan_cache_mode = \(mode)")
                var lines: [String] = []
                let arguments: [SQLValue] = [.text(scope), .text(""), .text("ffffffff"), .integer(100)]
                try db.query("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) \(page)", arguments) { row in
                    lines.append(try row.text(0) ?? "")
                    return true
                }
                return lines
            }
            let scans = plan.filter { $0.contains("Scan") }
            #expect(scans.count == 2 && scans.allSatisfy { $0.contains("Index Scan using") }, "\(plan)")
            for scan in scans {
                let count = try #require(scan.firstMatch(of: /rows=(\d+)/).flatMap { Int($0.1) })
                #expect(count <= 101, "\(plan)")
            }
        }
    }
}

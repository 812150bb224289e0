import Testing

@testable import LFSServerPostgres
@testable import LFSSyncServer

@Suite("Query plans on PostgreSQL", .timeLimit(.minutes(10)))
struct PlanTests {
    @Test(
        "A page reads only its own rows, with a custom or a generic plan",
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
                let arguments: [SQLValue] = [.text(scope), .text(""), .text("ffffffff"), .integer(100), .text("")]
                try db.query("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) \(page)", arguments: arguments) { row in
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

    @Test("Every statement finds its rows by an index and avoids sorts")
    func plans() async throws {
        try await TestStore.run { database in
            let watched = WatchedDatabase(database)
            var options = SyncServiceOptions()
            options.removalDelay = .zero
            let service = try await SyncService(watched, schema: PeopleTests.schema, options: options)
            try await TestServer(database: watched, service: service).runEveryStatement()
            let statements = Set(watched.statements).filter {
                $0.prefixMatch(of: /\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/) != nil
            }.sorted()
            #expect(statements.count > 80, "\(statements.count)")
            try await database.write { db in
                // These settings exclude every plan with an index, so a remaining scan or sort has no alternative.
                for setting in ["enable_seqscan = off", "enable_sort = off", "plan_cache_mode = force_generic_plan"] {
                    try db.run(script: "SET LOCAL \(setting)")
                }
                for (number, sql) in statements.enumerated() {
                    for step in try Self.slowSteps(of: sql, "p\(number)", db) where !Self.mayBe(step, in: sql) {
                        Issue.record("\(step): \(sql)")
                    }
                }
            }
        }
    }

    @Test("Triggers of a change read few rows, regardless of unrelated rows")
    func triggers() async throws {
        try await TestStore.run { database in
            let service = try await SyncService(database, schema: SharingServer.schema)
            let server = TestServer(database: database, service: service)
            let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
            for file in ["shared", "noted", "other"] { try await ann.file(file) }
            let scope = try await server.scope(of: "ann")
            let many = "FROM generate_series(1, 1000) i"
            try await server.execute(
                """
                INSERT INTO album (id, title, scopeID) SELECT 'a' || i, 'x', '\(scope)' \(many);
                INSERT INTO album_user (id, "albumID", "accountID", role, scopeID)
                SELECT 'u' || i, 'a' || i, '\(bob.id)', 'viewer', '\(scope)' \(many);
                INSERT INTO album_file (id, "albumID", "fileID", scopeID)
                SELECT 'l' || i, 'a' || i, 'shared', '\(scope)' \(many);
                INSERT INTO note (id, "fileID", text, scopeID) SELECT 'n' || i, 'noted', 'x', '\(scope)' \(many);
                INSERT INTO lfs_file (id, name, "byteCount", sha256, key, "createdAt", status, scopeID)
                SELECT 'f' || i, 'x', 1, 'a', 'k' || i, '2026', 'local', '\(scope)' \(many);
                INSERT INTO note (id, text, scopeID) SELECT 'gone' || i, 'x', '\(scope)' \(many);
                DELETE FROM note WHERE id LIKE 'gone%';
                DO $$ BEGIN EXECUTE (
                    SELECT 'ANALYZE ' || string_agg(quote_ident(relname), ', ') FROM pg_class
                    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
                ); END $$
                """)
            let changes = [
                "INSERT INTO album (id, title, scopeID) VALUES ('b', 'x', '\(scope)')",
                """
                INSERT INTO album_file (id, "albumID", "fileID", scopeID) VALUES ('lb', 'b', 'other', '\(scope)')
                """,
                """
                INSERT INTO album_user (id, "albumID", "accountID", role, scopeID)
                VALUES ('ub', 'b', '\(bob.id)', 'viewer', '\(scope)')
                """,
                "INSERT INTO note (id, \"fileID\", text, scopeID) VALUES ('nb', 'other', 'x', '\(scope)')",
                "UPDATE note SET text = 'y' WHERE id = 'nb'", "UPDATE album SET title = 'y' WHERE id = 'b'",
                "UPDATE lfs_file SET name = 'y' WHERE id = 'other'",
                "UPDATE album_user SET role = 'editor' WHERE id = 'ub'", "DELETE FROM note WHERE id = 'nb'",
                "DELETE FROM album_file WHERE id = 'lb'", "DELETE FROM album_user WHERE id = 'ub'",
                "DELETE FROM lfs_file WHERE id = 'other'", "DELETE FROM album WHERE id = 'b'",
            ]
            for change in changes {
                let reads = try await database.write { db in
                    // The table is small and not analyzed, so PostgreSQL would otherwise choose a plan without an
                    // index.
                    try db.run(script: "SET LOCAL enable_seqscan = off")
                    let before = try Self.reads(db)
                    try db.run(script: change)
                    let after = try Self.reads(db)
                    return after.filter { $0.value - before[$0.key, default: 0] > 50 }
                        .map { "\($0.key): \($0.value - before[$0.key, default: 0])" }
                }
                #expect(reads.isEmpty, "\(change)")
            }
        }
    }

    /// Returns the number of rows of each table that this connection has read in the current transaction.
    static func reads(_ db: any SQLConnection) throws -> [String: Int64] {
        var reads: [String: Int64] = [:]
        try db.query(
            """
            SELECT relname::text, seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables
            WHERE schemaname = current_schema()
            """, arguments: []
        ) { row in
            reads[try row.text(0) ?? ""] = try row.integer(1)
            return true
        }
        return reads
    }

    /// Returns the steps of a generic plan that sort, or that read a whole table or index.
    private static func slowSteps(of sql: String, _ name: String, _ db: any SQLConnection) throws -> [String] {
        let text = StatementText.translated(sql)
        let count = text.matches(of: /\$(\d+)/).compactMap { Int($0.1) }.max() ?? 0
        try db.run(script: "PREPARE \(name) AS \(text)")
        let arguments = count == 0 ? "" : "(\(Array(repeating: "NULL", count: count).joined(separator: ", ")))"
        var lines: [String] = []
        try db.query("EXPLAIN (COSTS OFF) EXECUTE \(name)\(arguments)", arguments: []) { row in
            lines.append(try row.text(0) ?? "")
            return true
        }
        try db.run(script: "DEALLOCATE \(name)")
        return lines.enumerated().compactMap { index, line in
            let step = line.trimmingPrefix(/[ ]*(->)?[ ]*/)
            let hasCondition = lines.dropFirst(index + 1).first?.contains("Index Cond:") == true
            let isSlow =
                step.hasPrefix("Seq Scan") || step.hasPrefix("Sort") && !step.hasPrefix("Sort Key")
                || step.contains(/^(Bitmap )?Index (Only )?Scan/) && !hasCondition
            return isSlow ? String(step) : nil
        }
    }

    /// The allowed exceptions: a part of a statement, and the start of a step of its plan. An empty step allows all
    /// steps.
    private static let exceptions: [(part: String, step: String)] = [
        // The number of rows is the number of scopes of one session.
        ("(SELECT DISTINCT scopeID FROM sync_checkpoint", "Sort"),
        // At the start. The plan for PostgreSQL's own tables depends on their number of rows.
        ("DELETE FROM sync_object", "Seq Scan on sync_object"), ("FROM pg_class", ""),
        // Once a day, or when an administrator asks.
        ("DELETE FROM sync_session WHERE expiresAt <= ?1", "Seq Scan on sync_session"),
        ("ORDER BY a.name, s.createdAt, s.id", "Index Scan using sync_account_name_key on sync_account a"),
        // At the removal of an account.
        ("DELETE FROM \"partner\" WHERE \"sharedWithID\"", "Seq Scan on partner"),
        ("DELETE FROM \"album_user\" WHERE \"accountID\"", "Seq Scan on album_user"),
    ]

    private static func mayBe(_ step: String, in sql: String) -> Bool {
        exceptions.contains { ($0.step.isEmpty || step.hasPrefix($0.step)) && sql.contains($0.part) }
    }
}

import LFSServerPostgres
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Triggers on PostgreSQL", .timeLimit(.minutes(10)))
struct TriggerTests {
    @Test("TRUNCATE is refused for a synced table and for its parent")
    func truncate() async throws {
        try await DeletionTests.run { server, device in
            for table in ["comment", "recipe CASCADE"] {
                let failure = await #expect(throws: SQLFailure.self) { try await server.execute("TRUNCATE \(table)") }
                #expect(failure?.message.contains("DELETE") == true)
            }
            let items = try await device.sync()
            #expect(items == [])
        }
    }

    @Test("Rows loaded with COPY are synced, and so are their deletions")
    func copy() async throws {
        try await DeletionTests.run { server, device in
            let scope = try await server.scope(of: "ann")
            let lines = ["x1", "x2"].map { "\($0)\\tSoup\\t\(scope)\\n" }.joined()
            try await server.execute("COPY recipe (id, title, scopeID) FROM PROGRAM 'printf ''\(lines)'''")
            #expect(try await device.sync() == ["Recipe x1", "Recipe x2"])
            try await server.execute("DELETE FROM recipe WHERE id LIKE 'x%'")
            #expect(try await Set(device.sync()) == ["-Recipe x1", "-Recipe x2"])
        }
    }

    @Test("An upsert syncs its rows, and an insert that does nothing syncs none")
    func upsert() async throws {
        try await DeletionTests.run { server, device in
            let scope = try await server.scope(of: "ann")
            try await server.execute(
                """
                INSERT INTO recipe (id, title, scopeID) VALUES ('r1', 'Stew', '\(scope)'), ('r2', 'Soup', '\(scope)')
                ON CONFLICT (id) DO UPDATE SET title = excluded.title
                """)
            #expect(try await device.sync() == ["Recipe r1", "Recipe r2"])
            try await server.execute("\(PostgresCase.recipe("r1", scope: scope)) ON CONFLICT (id) DO NOTHING")
            await #expect(throws: SQLFailure.self) {
                try await server.execute(PostgresCase.recipe("r9", scope: "account/x"))
            }
            #expect(try await device.sync() == [])
        }
    }

    @Test("A change by a trigger of the host is synced only if it changes the row")
    func host() async throws {
        try await DeletionTests.run { server, device in
            try await server.execute(
                """
                CREATE FUNCTION host() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN NEW.text := 'always'; RETURN NEW; END $$;
                CREATE TRIGGER host BEFORE UPDATE ON comment FOR EACH ROW EXECUTE FUNCTION host()
                """)
            try await server.execute("UPDATE comment SET text = text WHERE id = 'c1'")
            #expect(try await device.sync() == ["Comment c1"])
            try await server.execute("UPDATE comment SET text = text WHERE id = 'c1'")
            #expect(try await device.sync() == [])
        }
    }

    @Test("An update cannot set the position of a row")
    func position() async throws {
        try await DeletionTests.run { server, device in
            try await server.execute("UPDATE recipe SET updateID = 'x'", "UPDATE step SET updateID = '', text = 'new'")
            #expect(try await device.sync() == ["Step s1", "Step s2"])
        }
    }

    @Test("The triggers fire in the role of a replica too")
    func replica() async throws {
        try await DeletionTests.run { server, device in
            try await server.execute(
                "SET LOCAL session_replication_role = replica; UPDATE recipe SET title = 'Stew'; DELETE FROM comment")
            #expect(try await Set(device.sync()) == ["Recipe r1", "-Comment c1", "-Comment c2"])
        }
    }

    @Test("Servers that start concurrently create the tables once")
    func start() async throws {
        try await TestStore.run { url, _ in
            try await withThrowingTaskGroup { group in
                for _ in 1...4 {
                    group.addTask {
                        let database = try TestStore.database(url)
                        let service = try await SyncService(database, schema: TestServer.schema)
                        // All of them use the same account, which one of them creates.
                        _ = try await service.addSession(account: "ann")
                        await database.close()
                    }
                }
                try await group.waitForAll()
            }
            let database = try TestStore.database(url)
            let service = try await SyncService(database, schema: TestServer.schema)
            let server = TestServer(database: database, service: service)
            #expect(try await server.text("SELECT count(*) || '' FROM sync_account") == "1")
            #expect(try await server.text("SELECT count(*) || '' FROM sync_session") == "4")
            await database.close()
        }
    }

    @Test("Devices that push the same new row concurrently create it once")
    func race() async throws {
        try await PostgresCase.run { run in
            var devices: [TestDevice] = []
            for _ in 1...4 { devices.append(try await run.server.device()) }
            let tokens = devices.map(\.token)
            try await withThrowingTaskGroup { group in
                for token in tokens {
                    group.addTask {
                        let device = TestDevice(service: run.server.service, token: token)
                        for number in 1...20 {
                            let result = try await device.put(
                                "RecipeV2", key: "r\(number)", values: ["title": .text("Soup")])
                            #expect(result.outcome.isApplied, "\(result)")
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await devices[0].sync().count == 20)
        }
    }

    @Test("A push that is repeated while it is applied is applied once")
    func twice() async throws {
        try await PostgresCase.run { run in
            let token = try await run.server.device().token
            let results = try await withThrowingTaskGroup { group in
                for _ in 1...4 {
                    group.addTask {
                        let device = TestDevice(service: run.server.service, token: token)
                        return try await device.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
                    }
                }
                return try await group.reduce(into: Set<SyncMutationResult>()) { $0.insert($1) }
            }
            #expect(results.count == 1 && results.first?.outcome.isApplied == true)
        }
    }

    @Test("A change and a deletion reach each shared scope of a row")
    func members() async throws {
        try await DeletionTests.run { server, device in
            try await server.execute(
                "INSERT INTO sync_scope (id) VALUES ('album/1'), ('album/2')",
                """
                INSERT INTO sync_member (scopeID, tableName, key, updateID)
                VALUES ('album/1', 'recipe', 'r1', ''), ('album/2', 'recipe', 'r1', ''), ('album/1', 'step', 's1', '')
                """)
            let heads = "SELECT string_agg(head, ' ' ORDER BY id) FROM sync_scope WHERE id LIKE 'album/%'"
            let members = """
                SELECT string_agg(m.scopeID || tableName || isDeleted || (updateID = head), ' ' ORDER BY m.updateID)
                FROM sync_member m JOIN sync_scope s ON s.id = m.scopeID
                """
            let before = try await server.text(heads)
            try await server.execute("UPDATE step SET text = 'new'", "UPDATE recipe SET title = title")
            #expect(try await server.text(members) == "album/1recipe0false album/2recipe0true album/1step0true")
            #expect(try await server.text(heads) != before)
            try await server.execute("DELETE FROM recipe")
            let states = """
                SELECT string_agg(scopeID || tableName || isDeleted, ' ' ORDER BY scopeID, tableName) FROM sync_member
                """
            #expect(try await server.text(states) == "album/1recipe1 album/1step1 album/2recipe1")
            try await device.sync()
        }
    }
}

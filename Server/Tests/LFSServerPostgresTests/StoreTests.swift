import LFSServerPostgres
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Schema of the store on PostgreSQL", .timeLimit(.minutes(10)))
struct StoreTests {
    static let old = SyncSchema(tables: [.init("recipe", columns: [.init("title", kind: .text, isRequired: true)])])

    static let new = SyncSchema(
        tables: [
            .init(
                "recipe",
                columns: [
                    .init("title", kind: .text, isRequired: true), .init("note", kind: .text),
                    .init("rating", kind: .real, since: 2),
                    .init("photoID", kind: .text, parent: .init("lfs_file", onDelete: .setNull), since: 2),
                ])
        ] + SharingServer.schema.tables.dropFirst(), containers: SharingServer.schema.containers,
        partners: SharingServer.schema.partners)

    /// Starts a server on the store.
    @discardableResult private func serve(_ database: any SQLDatabase, schema: SyncSchema) async throws -> TestServer {
        TestServer(database: database, service: try await SyncService(database, schema: schema))
    }

    private func shape(_ database: any SQLDatabase) async throws -> [SchemaObject.Name: String] {
        try await database.read { try SchemaCatalog.objects($0) }
    }

    @Test("A migrated store equals a fresh one and keeps its rows")
    func added() async throws {
        var shapes: [[SchemaObject.Name: String]] = []
        try await TestStore.run { database in
            let server = try await serve(database, schema: Self.old)
            let device = try await server.device()
            try await device.put("RecipeV1", key: "r1", values: ["title": .text("Soup")])
            #expect(try await device.sync(types: [try #require(SyncType("RecipeV1"))]) == ["Recipe r1"])
            let store = try SyncStore(database, schema: Self.new)
            let pending = try await store.pending()
            #expect(pending.contains { $0.hasPrefix("ALTER TABLE \"recipe\" ADD COLUMN \"rating\"") })
            #expect(try await store.pending() == pending)
            let later = try await serve(database, schema: Self.new)
            let other = TestDevice(service: later.service, token: device.token)
            other.batch = device.batch
            other.sequence = device.sequence
            let type = try #require(SyncType("RecipeV2"))
            let delivery = try await other.delivery(types: [type])
            #expect(delivery.items == ["Recipe r1"] && delivery.rows.first?["rating"] == .null)
            try await other.acknowledge(delivery.tokens)
            let outcome = try await other.push(.patch, type: "RecipeV2", key: "r1", values: ["rating": .real(5)])
                .outcome
            #expect(outcome.isApplied)
            #expect(try await other.sync(types: [type]) == ["Recipe r1"])
            #expect(try await store.migrate() == [])
            shapes.append(try await shape(database))
        }
        try await TestStore.run { database in
            try await serve(database, schema: Self.new)
            shapes.append(try await shape(database))
        }
        #expect(shapes[0] == shapes[1] && shapes[0].count > 80)
    }

    @Test("Scopes are created for existing rows of a newly shared table")
    func shared() async throws {
        try await TestStore.run { database in
            var alone = SharingServer.schema
            alone.containers = []
            alone.partners = nil
            let server = try await serve(database, schema: alone)
            let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
            try await ann.album("x")
            try await ann.share("x", other: bob)
            try await ann.letRead(bob)
            #expect(try await bob.sync() == [])
            let late = try await serve(database, schema: SharingServer.schema).person("bob")
            try await late.sync()
            #expect(late.has("album/x") == ["Album x", "AlbumUser x-bob"])
            #expect(late.rows.count == 2)
        }
    }

    @Test(
        "A manual change of the schema is reported, and the server does not start",
        arguments: [
            ("DROP TRIGGER sync_insert ON album", "trigger 'album.sync_insert' is missing"),
            ("DROP FUNCTION sync_album_user_joined CASCADE", "function 'sync_album_user_joined()' is missing"),
            ("DROP TRIGGER zz_sync_stamp ON sync_member", "trigger 'sync_member.zz_sync_stamp' is missing"),
            (
                "ALTER TABLE album DISABLE TRIGGER sync_delete",
                "trigger 'album.sync_delete' is not the one that the server has created"
            ),
            ("DROP INDEX sync_album_position", "index 'sync_album_position' is missing"),
            ("DROP INDEX sync_member_row", "index 'sync_member_row' is missing"),
            ("DROP TABLE sync_tombstone", "table 'sync_tombstone' is missing"),
            ("DROP TABLE sync_object", "table 'sync_object' is missing"),
            ("DELETE FROM sync_state", "table 'sync_state' has no row"),
            ("DROP TABLE partner", "table 'partner' is missing"),
            ("ALTER TABLE album ADD COLUMN extra TEXT", "table 'album' is not the one that the server has created"),
            (
                "ALTER TABLE album ALTER COLUMN id TYPE TEXT COLLATE \"default\"",
                "table 'album' is not the one that the server has created"
            ),
            (
                "ALTER TABLE sync_scope ADD COLUMN extra TEXT",
                "table 'sync_scope' is not the one that the server has created"
            ),
            (
                "ALTER TABLE sync_scope DROP CONSTRAINT sync_scope_pkey CASCADE",
                "table 'sync_scope' is not the one that the server has created"
            ),
            (
                "ALTER SEQUENCE sync_counter CACHE 20",
                "sequence 'sync_counter' is not the one that the server has created"
            ),
            (
                "CREATE OR REPLACE FUNCTION sync_now() RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT 1::bigint $$",
                "function 'sync_now()' is not the one that the server has created"
            ),
        ])
    func drift(_ statement: String, name: String) async throws {
        try await TestStore.run { database in
            try await serve(database, schema: SharingServer.schema).execute(statement)
            let error = await #expect(throws: SyncStoreError.self) {
                try await serve(database, schema: SharingServer.schema)
            }
            #expect(error?.code == .drift && error?.description.contains(name) == true, "\(error?.description ?? "")")
            let store = try SyncStore(database, schema: SharingServer.schema)
            await #expect(throws: SyncStoreError.self) { try await store.check() }
        }
    }

    @Test("Triggers, indexes and tables of the host are left alone")
    func host() async throws {
        try await TestStore.run { database in
            try await serve(database, schema: Self.old).execute(
                """
                CREATE TABLE audit (id TEXT); CREATE INDEX mine ON recipe(title);
                CREATE FUNCTION mine() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN INSERT INTO audit VALUES (NEW.id); RETURN NULL; END $$;
                CREATE TRIGGER mine AFTER INSERT ON recipe FOR EACH ROW EXECUTE FUNCTION mine();
                """)
            let server = try await serve(database, schema: Self.new)
            try await server.device().put("RecipeV1", key: "r1", values: ["title": .text("Soup")])
            #expect(try await server.count("audit") == 1)
        }
    }

    @Test("A migration that would remove or change a table or column is refused")
    func destructive() async throws {
        try await TestStore.run { database in
            try await serve(database, schema: Self.new)
            let before = try await shape(database)
            var schema = Self.new
            schema.tables.removeAll { $0.name == "note" }
            schema.tables[1].columns[1].kind = .blob
            let error = await #expect(throws: SyncStoreError.self) { try await serve(database, schema: schema) }
            #expect(error?.code == .destructive && error?.details.count == 2, "\(error?.description ?? "")")
            #expect(try await shape(database) == before)
        }
    }

    @Test("Concurrent migrations run once, and an older server refuses the newer store")
    func twice() async throws {
        try await TestStore.run { url, _ in
            let databases = try (1...3).map { _ in try TestStore.database(url) }
            try await serve(databases[0], schema: Self.old)
            let counts = try await withThrowingTaskGroup { group in
                for database in databases {
                    group.addTask { try await SyncStore(database, schema: Self.new).migrate().count }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }.sorted()
            }
            #expect(counts[0] == 0 && counts[1] == 0 && counts[2] > 20)
            let older = await #expect(throws: SyncStoreError.self) { try await serve(databases[0], schema: Self.old) }
            #expect(older?.code == .destructive)
            try await databases[1].write {
                try $0.run(
                    script: """
                        UPDATE sync_state SET schemaVersion = \(ServerTables.version + 1),
                            oldestVersion = \(ServerTables.version + 1), tables = 'of the future'
                        """)
            }
            let error = await #expect(throws: SyncStoreError.self) { try await serve(databases[2], schema: Self.new) }
            #expect(error?.code == .newerServer)
            for database in databases { await database.close() }
        }
    }

    @Test("A trigger that changed in a newer server is recreated and its function replaced")
    func remade() async throws {
        try await TestStore.run { database in
            try await serve(database, schema: SharingServer.schema)
            let before = try await shape(database)
            // Simulates the definitions of an older server.
            try await database.write { db in
                try db.run(script: "UPDATE sync_object SET source = source || ' -- older' WHERE source <> ''")
            }
            let statements = try await SyncStore(database, schema: SharingServer.schema).migrate()
            #expect(statements.contains { $0.hasPrefix("DROP TRIGGER \"sync_insert\" ON \"album\"") })
            #expect(!statements.contains { $0.hasPrefix("DROP FUNCTION") || $0.hasPrefix("CREATE TABLE") })
            #expect(try await shape(database) == before)
            #expect(try await SyncStore(database, schema: SharingServer.schema).pending() == [])
        }
    }

    @Test("The server updates the position function in a store of an earlier server")
    func stamp() async throws {
        try await TestStore.run { database in
            try await serve(database, schema: SharingServer.schema)
            let before = try await shape(database)
            let name = SchemaTable.stamp
            try await database.write { db in
                try db.run(
                    script: """
                        CREATE OR REPLACE FUNCTION sync_stamp() RETURNS trigger LANGUAGE plpgsql
                        SET search_path FROM CURRENT AS $$
                        BEGIN
                            NEW.updateID := sync_next(NEW.scopeID);
                            RETURN NEW;
                        END $$
                        """)
                let earlier = try #require(try SchemaCatalog.objects(db)[name])
                try db.execute(
                    "UPDATE sync_object SET definition = ?1 WHERE name = ?2",
                    arguments: [.text(earlier), .text(name.name)])
            }
            let store = try SyncStore(database, schema: SharingServer.schema)
            #expect(try await store.migrate() == [PostgresOrder.stamp])
            #expect(try await shape(database) == before)
            #expect(try await store.pending() == [])
            // Objects that a server does not know by their source are taken away.
            let known = try await database.read { try SchemaTable.state($0)?.objects[name] }
            #expect(known?.source == "")
        }
    }

    /// Removes from a store the additions that came without a new version.
    private func removeAdditions(_ server: TestServer, database: any SQLDatabase) async throws {
        for name in SchemaAddition.names(.postgres) {
            // The triggers are dropped with their functions.
            if name.kind != "trigger" { try await server.execute("\(name.removal) CASCADE") }
            try await server.execute("DELETE FROM sync_object WHERE name = '\(name.name)'")
        }
        try await server.execute(
            "ALTER TABLE sync_scope DROP COLUMN deletionCount", "ALTER TABLE sync_account DROP COLUMN removalBytes",
            "ALTER TABLE sync_state DROP COLUMN earlierTables, DROP COLUMN oldestVersion")
        try await noteTables(["sync_scope", "sync_account", "sync_state"], database: database)
    }

    /// Records the current definitions of tables.
    private func noteTables(_ tables: [String], database: any SQLDatabase) async throws {
        try await database.write { db in
            for table in tables {
                let name = SchemaObject.Name(kind: "table", name: table)
                let current = try #require(try SchemaCatalog.objects(db)[name])
                try db.execute(
                    "UPDATE sync_object SET definition = ?1 WHERE name = ?2",
                    arguments: [.text(current), .text(table)])
            }
        }
    }

    @Test("A store of an earlier server gets its additions without a new version")
    func additions() async throws {
        try await TestStore.run { database in
            let server = try await serve(database, schema: Self.old)
            let before = try await shape(database)
            let device = try await server.device()
            for key in ["r1", "r2"] { try await device.put("RecipeV1", key: key, values: ["title": .text("Soup")]) }
            try await device.push(.delete, type: "RecipeV1", key: "r1")
            try await removeAdditions(server, database: database)
            let statements = try await SyncStore(database, schema: Self.old).migrate()
            #expect(statements == SchemaAddition.all(.postgres).flatMap(\.statements))
            #expect(try await shape(database) == before)
            #expect(try await SyncStore(database, schema: Self.old).pending() == [])
            #expect(try await server.count("sync_scope", where: "deletionCount = 1 AND rowCount = 1") == 1)
            // An earlier server removes only objects with a source.
            let names = SchemaAddition.names(.postgres).map { "'\($0.name)'" }.joined(separator: ", ")
            let kept = "source = '' AND name IN (\(names))"
            #expect(try await server.count("sync_object", where: kept) == SchemaAddition.names(.postgres).count)
        }
    }

    /// Removes from a store all that version 4 has added.
    private func makeVersion3(_ server: TestServer, database: any SQLDatabase) async throws {
        try await removeAdditions(server, database: database)
        try await server.execute(
            """
            DROP FUNCTION sync_recipe_counted CASCADE;
            DROP FUNCTION sync_lfs_file_counted CASCADE;
            DELETE FROM sync_object WHERE name LIKE '%count%' AND kind IN ('function', 'trigger');
            ALTER TABLE sync_scope DROP COLUMN rowCount, DROP COLUMN rowBytes, DROP COLUMN fileBytes;
            ALTER TABLE sync_account DROP COLUMN rowLimit, DROP COLUMN rowByteLimit, DROP COLUMN fileByteLimit,
                DROP COLUMN sessionLimit;
            ALTER TABLE sync_session DROP COLUMN idleTime, DROP COLUMN endsAt, DROP COLUMN isReadOnly,
                DROP COLUMN types;
            ALTER TABLE sync_state DROP COLUMN markCount, DROP COLUMN markID, DROP COLUMN markCluster;
            UPDATE sync_state SET schemaVersion = 3
            """)
        try await noteTables(["sync_scope", "sync_account", "sync_session", "sync_state"], database: database)
    }

    @Test("A store of version 2 gets the times of checkpoints and keeps its rows")
    func checkpointTimes() async throws {
        try await TestStore.run { database in
            let server = try await serve(database, schema: Self.old)
            let before = try await shape(database)
            let device = try await server.device()
            try await device.put("RecipeV1", key: "r1", values: ["title": .text("Soup")])
            try await device.sync(types: [try #require(SyncType("RecipeV1"))])
            let name = SchemaObject.Name(kind: "table", name: "sync_checkpoint")
            try await makeVersion3(server, database: database)
            try await database.write { db in
                try db.run(
                    script: """
                        ALTER TABLE sync_checkpoint DROP COLUMN createdAt, DROP COLUMN updatedAt;
                        UPDATE sync_state SET schemaVersion = 2
                        """)
                let earlier = try #require(try SchemaCatalog.objects(db)[name])
                try db.execute(
                    "UPDATE sync_object SET definition = ?1 WHERE name = ?2",
                    arguments: [.text(earlier), .text(name.name)])
            }
            let statements = try await SyncStore(database, schema: Self.old).migrate()
            #expect(statements.count { $0.contains("ALTER TABLE sync_checkpoint") } == 2)
            #expect(try await shape(database) == before)
            let later = try await serve(database, schema: Self.old)
            let contacts = try #require(try await later.service.sessions().first).contacts
            #expect(contacts == [.init(type: "RecipeV1", firstAt: nil, lastAt: nil)])
        }
    }

    @Test("A store of version 3 gets counters with the rows that it has")
    func counters() async throws {
        try await TestStore.run { database in
            let server = try await serve(database, schema: Self.old)
            let before = try await shape(database)
            let device = try await server.device()
            try await device.put("RecipeV1", key: "r1", values: ["title": .text("Soup")])
            let usage = try #require(try await server.service.accounts().first).usage
            #expect(usage.rows == 1)
            try await makeVersion3(server, database: database)
            let later = try await serve(database, schema: Self.old)
            #expect(try await shape(database) == before)
            #expect(try await later.service.accounts().first?.usage == usage)
            #expect(try await later.service.recount() == 0)
        }
    }

    @Test("A name that PostgreSQL would truncate is refused before a change")
    func names() async throws {
        try await TestStore.run { database in
            let schema = SyncSchema(tables: [
                .init(String(repeating: "x", count: 50), columns: [.init("title", kind: .text)])
            ])
            let error = await #expect(throws: SyncSchemaError.self) { try await serve(database, schema: schema) }
            #expect(error?.message.contains("63 bytes") == true)
            let made = try await shape(database)
            #expect(made.isEmpty)
        }
    }
}

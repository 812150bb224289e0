import LFSServerPostgres
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("N: the schema of the store, on PostgreSQL", .timeLimit(.minutes(10)))
struct StoreTests {
    static let old = SyncSchema(tables: [.init("recipe", [.init("title", .text, isRequired: true)])])

    static let new = SyncSchema(
        tables: [
            .init(
                "recipe",
                [
                    .init("title", .text, isRequired: true), .init("note", .text), .init("rating", .real, since: 2),
                    .init("photoID", .text, parent: .init("lfs_file", onDelete: .setNull), since: 2),
                ])
        ] + SharingServer.schema.tables.dropFirst(), containers: SharingServer.schema.containers,
        partners: SharingServer.schema.partners)

    /// Begins a server on the store.
    @discardableResult private func serve(_ database: any SQLDatabase, _ schema: SyncSchema) async throws -> TestServer
    {
        TestServer(database: database, service: try await SyncService(database, schema: schema))
    }

    private func shape(_ database: any SQLDatabase) async throws -> [SchemaObject.Name: String] {
        try await database.read { try SchemaCatalog.objects($0) }
    }

    @Test("1 a store that was migrated is like a fresh one; 4 table, column and version are added, and rows stay")
    func added() async throws {
        var shapes: [[SchemaObject.Name: String]] = []
        try await TestStore.run { database in
            let server = try await serve(database, Self.old)
            let device = try await server.device()
            try await device.put("RecipeV1", "r1", ["title": .text("Soup")])
            #expect(try await device.sync(types: [try #require(SyncType("RecipeV1"))]) == ["Recipe r1"])
            let store = try SyncStore(database, schema: Self.new)
            let pending = try await store.pending()
            #expect(pending.contains { $0.hasPrefix("ALTER TABLE \"recipe\" ADD COLUMN \"rating\"") })
            #expect(try await store.pending() == pending)
            let later = try await serve(database, Self.new)
            let other = TestDevice(service: later.service, token: device.token)
            (other.batch, other.sequence) = (device.batch, device.sequence)
            let type = try #require(SyncType("RecipeV2"))
            let delivery = try await other.delivery(types: [type])
            #expect(delivery.items == ["Recipe r1"] && delivery.rows.first?["rating"] == .null)
            try await other.acknowledge(delivery.tokens)
            let outcome = try await other.push(.patch, "RecipeV2", "r1", ["rating": .real(5)]).outcome
            #expect(outcome.isApplied)
            #expect(try await other.sync(types: [type]) == ["Recipe r1"])
            #expect(try await store.migrate() == [])
            shapes.append(try await shape(database))
        }
        try await TestStore.run { database in
            try await serve(database, Self.new)
            shapes.append(try await shape(database))
        }
        #expect(shapes[0] == shapes[1] && shapes[0].count > 80)
    }

    @Test("4 what is shared from now on has rows already: their scopes are made")
    func shared() async throws {
        try await TestStore.run { database in
            var alone = SharingServer.schema
            (alone.containers, alone.partners) = ([], nil)
            let server = try await serve(database, alone)
            let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
            try await ann.album("x")
            try await ann.share("x", bob)
            try await ann.letRead(bob)
            #expect(try await bob.sync() == [])
            let late = try await serve(database, SharingServer.schema).person("bob")
            try await late.sync()
            #expect(late.has("album/x") == ["Album x", "AlbumUser x-bob"])
            #expect(late.rows.count == 2)
        }
    }

    @Test(
        "2, 3 what was changed by hand is named, and nothing is served",
        arguments: [
            ("DROP TRIGGER sync_insert ON album", "trigger 'album.sync_insert' is missing"),
            ("DROP FUNCTION sync_album_user_joined CASCADE", "function 'sync_album_user_joined()' is missing"),
            ("DROP TRIGGER zz_sync_stamp ON sync_member", "trigger 'sync_member.zz_sync_stamp' is missing"),
            ("ALTER TABLE album DISABLE TRIGGER sync_delete", "trigger 'album.sync_delete' is another"),
            ("DROP INDEX sync_album_position", "index 'sync_album_position' is missing"),
            ("DROP INDEX sync_member_row", "index 'sync_member_row' is missing"),
            ("DROP TABLE sync_tombstone", "table 'sync_tombstone' is missing"),
            ("DROP TABLE sync_object", "table 'sync_object' is missing"),
            ("DELETE FROM sync_state", "row of 'sync_state' is missing"),
            ("DROP TABLE partner", "table 'partner' is missing"),
            ("ALTER TABLE album ADD COLUMN extra TEXT", "table 'album' is another"),
            ("ALTER TABLE album ALTER COLUMN id TYPE TEXT COLLATE \"default\"", "table 'album' is another"),
            ("ALTER TABLE sync_scope ADD COLUMN extra TEXT", "table 'sync_scope' is another"),
            ("ALTER TABLE sync_scope DROP CONSTRAINT sync_scope_pkey CASCADE", "table 'sync_scope' is another"),
            ("ALTER SEQUENCE sync_counter CACHE 20", "sequence 'sync_counter' is another"),
            (
                "CREATE OR REPLACE FUNCTION sync_now() RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT 1::bigint $$",
                "function 'sync_now()' is another"
            ),
        ])
    func drift(_ statement: String, _ name: String) async throws {
        try await TestStore.run { database in
            try await serve(database, SharingServer.schema).execute(statement)
            let error = await #expect(throws: SyncStoreError.self) { try await serve(database, SharingServer.schema) }
            #expect(error?.code == .drift && error?.description.contains(name) == true, "\(error?.description ?? "")")
            let store = try SyncStore(database, schema: SharingServer.schema)
            await #expect(throws: SyncStoreError.self) { try await store.check() }
        }
    }

    @Test("11 triggers and tables of the host beside ours are theirs")
    func host() async throws {
        try await TestStore.run { database in
            try await serve(database, Self.old).execute(
                """
                CREATE TABLE audit (id TEXT); CREATE INDEX mine ON recipe(title);
                CREATE FUNCTION mine() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN INSERT INTO audit VALUES (NEW.id); RETURN NULL; END $$;
                CREATE TRIGGER mine AFTER INSERT ON recipe FOR EACH ROW EXECUTE FUNCTION mine();
                """)
            let server = try await serve(database, Self.new)
            try await server.device().put("RecipeV1", "r1", ["title": .text("Soup")])
            #expect(try await server.count("audit") == 1)
        }
    }

    @Test("5 what takes something away, or makes it another, is not done by itself, and is named")
    func destructive() async throws {
        try await TestStore.run { database in
            try await serve(database, Self.new)
            let before = try await shape(database)
            var schema = Self.new
            schema.tables.removeAll { $0.name == "note" }
            schema.tables[1].columns[1].kind = .blob
            let error = await #expect(throws: SyncStoreError.self) { try await serve(database, schema) }
            #expect(error?.code == .destructive && error?.details.count == 2, "\(error?.description ?? "")")
            #expect(try await shape(database) == before)
        }
    }

    @Test("12 servers that migrate at once do it once; 13 an older server refuses the store of a newer one")
    func twice() async throws {
        try await TestStore.run { url, _ in
            let databases = try (1...3).map { _ in try PostgresDatabase(url: url, options: .patient) }
            try await serve(databases[0], Self.old)
            let counts = try await withThrowingTaskGroup { group in
                for database in databases {
                    group.addTask { try await SyncStore(database, schema: Self.new).migrate().count }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }.sorted()
            }
            #expect(counts[0] == 0 && counts[1] == 0 && counts[2] > 20)
            let older = await #expect(throws: SyncStoreError.self) { try await serve(databases[0], Self.old) }
            #expect(older?.code == .destructive)
            try await databases[1].write {
                try $0.run(script: "UPDATE sync_state SET schemaVersion = 3, tables = 'of the future'")
            }
            let error = await #expect(throws: SyncStoreError.self) { try await serve(databases[2], Self.new) }
            #expect(error?.code == .newerServer)
            for database in databases { await database.close() }
        }
    }

    @Test("a trigger whose statement is another in a newer server is made anew, and its function replaced")
    func remade() async throws {
        try await TestStore.run { database in
            try await serve(database, SharingServer.schema)
            let before = try await shape(database)
            // As if an older server had made them otherwise.
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

    @Test("a name that PostgreSQL would cut off is refused before anything is made")
    func names() async throws {
        try await TestStore.run { database in
            let schema = SyncSchema(tables: [.init(String(repeating: "x", count: 50), [.init("title", .text)])])
            let error = await #expect(throws: SyncSchemaError.self) { try await serve(database, schema) }
            #expect(error?.message.contains("63 bytes") == true)
            let made = try await shape(database)
            #expect(made.isEmpty)
        }
    }
}

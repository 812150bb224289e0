import Foundation
import LFSWire
import TestSupport
import Testing

@testable import LFSSyncServer

@Suite("N: the schema of the store", .timeLimit(.minutes(10)))
struct MigrationTests {
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

    private func run(_ body: (_ path: String) async throws -> Void) async throws {
        try await withTemporaryFolder { try await body($0.appending(path: "sync.sqlite").path) }
    }

    /// Opens a server on the file, and closes it.
    private func serve(_ path: String, _ schema: SyncSchema, _ body: (TestServer) async throws -> Void = { _ in })
        async throws
    {
        let database = try SQLiteDatabase(path: path)
        do {
            try await body(TestServer(database: database, service: try await SyncService(database, schema: schema)))
        } catch {
            await database.close()
            throw error
        }
        await database.close()
    }

    private func change(_ path: String, _ statement: String) async throws {
        let database = try SQLiteDatabase(path: path)
        try await database.write { try $0.run(script: statement) }
        await database.close()
    }

    /// Columns of each table, and all indexes and triggers.
    private func shape(_ path: String) async throws -> [String] {
        let database = try SQLiteDatabase(path: path)
        let shape = try await database.read { db in
            var shape: [String] = []
            try db.query(
                """
                SELECT m.name || '.' || c.name || ' ' || c.type || c."notnull" FROM sqlite_master m
                JOIN pragma_table_info(m.name) c WHERE m.type = 'table'
                UNION ALL SELECT name || sql FROM sqlite_master WHERE type <> 'table' AND sql IS NOT NULL ORDER BY 1
                """, []
            ) { row in
                shape.append(try row.text(0) ?? "")
                return true
            }
            return shape
        }
        await database.close()
        return shape
    }

    @Test("1 a store that was migrated is like a fresh one; 4 table, column and version are added, and rows stay")
    func added() async throws {
        try await run { path in
            try await serve(path, Self.old) { server in
                let device = try await server.device()
                try await device.put("RecipeV1", "r1", ["title": .text("Soup")])
                #expect(try await device.sync(types: [try #require(SyncType("RecipeV1"))]) == ["Recipe r1"])
            }
            let store = try SyncStore(try SQLiteDatabase(path: path), schema: Self.new)
            let pending = try await store.pending()
            #expect(pending.contains { $0.hasPrefix("ALTER TABLE \"recipe\" ADD COLUMN \"rating\"") })
            #expect(try await store.pending() == pending)
            try await serve(path, Self.new) { server in
                let device = try await server.device()
                let type = try #require(SyncType("RecipeV2"))
                let delivery = try await device.delivery(types: [type])
                #expect(delivery.items == ["Recipe r1"] && delivery.rows.first?["rating"] == .null)
                try await device.acknowledge(delivery.tokens)
                let outcome = try await device.push(.patch, "RecipeV2", "r1", ["rating": .real(5)]).outcome
                #expect(outcome.isApplied)
                #expect(try await device.sync(types: [type]) == ["Recipe r1"])
            }
            #expect(try await store.migrate() == [])
            try await serve(path + "2", Self.new)
            #expect(try await shape(path) == shape(path + "2"))
        }
    }

    @Test("4 what is shared from now on has rows already: their scopes are made")
    func shared() async throws {
        try await run { path in
            var alone = SharingServer.schema
            (alone.containers, alone.partners) = ([], nil)
            try await serve(path, alone) { server in
                let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
                try await ann.album("x")
                try await ann.share("x", bob)
                try await ann.letRead(bob)
                #expect(try await bob.sync() == [])
            }
            try await serve(path, SharingServer.schema) { server in
                let bob = try await server.person("bob")
                try await bob.sync()
                #expect(bob.has("album/x") == ["Album x", "AlbumUser x-bob"])
                #expect(bob.rows.count == 2)
            }
        }
    }

    @Test(
        "2, 3 what was changed by hand is named, and nothing is served",
        arguments: [
            ("DROP TRIGGER sync_album_insert", "trigger 'sync_album_insert' is missing"),
            ("DROP TRIGGER sync_album_user_joined", "trigger 'sync_album_user_joined' is missing"),
            ("DROP TRIGGER sync_member_added", "trigger 'sync_member_added' is missing"),
            ("DROP INDEX sync_album_position", "index 'sync_album_position' is missing"),
            ("DROP INDEX sync_member_row", "index 'sync_member_row' is missing"),
            ("DROP TABLE sync_tombstone", "table 'sync_tombstone' is missing"),
            ("DROP TABLE sync_object", "table 'sync_object' is missing"),
            ("DELETE FROM sync_state", "row of 'sync_state' is missing"),
            ("DROP TABLE partner", "table 'partner' is missing"),
            ("ALTER TABLE album ADD COLUMN extra TEXT", "table 'album' is another"),
            ("ALTER TABLE sync_scope ADD COLUMN extra TEXT", "table 'sync_scope' is another"),
            (
                "DROP TRIGGER sync_note_move; CREATE TRIGGER sync_note_move AFTER INSERT ON note BEGIN SELECT 1; END",
                "trigger 'sync_note_move' is another"
            ),
        ])
    func drift(_ statement: String, _ name: String) async throws {
        try await run { path in
            try await serve(path, SharingServer.schema)
            try await change(path, "PRAGMA foreign_keys = OFF; " + statement)
            let error = await #expect(throws: SyncStoreError.self) { try await serve(path, SharingServer.schema) }
            #expect(error?.code == .drift && error?.description.contains(name) == true, "\(error?.description ?? "")")
            let database = try SQLiteDatabase(path: path)
            let store = try SyncStore(database, schema: SharingServer.schema)
            await #expect(throws: SyncStoreError.self) { try await store.check() }
            await database.close()
        }
    }

    @Test("11 triggers and tables of the host beside ours are theirs")
    func host() async throws {
        try await run { path in
            try await serve(path, Self.old)
            try await change(
                path,
                """
                CREATE TABLE audit (id); CREATE INDEX mine ON recipe(title);
                CREATE TRIGGER mine AFTER INSERT ON recipe BEGIN INSERT INTO audit VALUES (NEW.id); END
                """)
            try await serve(path, Self.new) { server in
                let device = try await server.device()
                try await device.put("RecipeV1", "r1", ["title": .text("Soup")])
                #expect(try await server.count("audit") == 1)
            }
        }
    }

    @Test(
        "5 what takes something away, or makes it another, is not done by itself, and is named",
        arguments: [0, 1, 2, 3, 4, 5, 6])
    func destructive(_ number: Int) async throws {
        let recipe = Self.new.tables[1]
        var schema = Self.new
        let word: String
        switch number {
        case 0:
            schema.tables.removeAll { $0.name == "note" }
            word = "table 'note'"
        case 1:
            schema.tables[1].columns.removeAll { $0.name == "note" }
            word = "'note' of 'recipe' is in the store"
        case 2:
            schema.tables[1].columns[1].kind = .blob
            word = "is text in the store, and blob"
        case 3:
            schema.tables[1].columns[1].isRequired = true
            word = "may be NULL in the store"
        case 4:
            schema.tables[1].columns[3].parent = nil
            word = "refers to something else"
        case 5:
            schema.tables[1].columns.append(.init("must", .text, isRequired: true))
            word = "'must' of 'recipe' is new and never NULL"
        default:
            schema.containers = []
            word = "shares 'album'"
        }
        #expect(recipe.name == "recipe")
        try await run { [schema] path in
            try await serve(path, Self.new)
            let before = try await shape(path)
            let error = await #expect(throws: SyncStoreError.self) { try await serve(path, schema) }
            #expect(
                error?.code == .destructive && error?.description.contains(word) == true, "\(error?.description ?? "")")
            #expect(try await shape(path) == before)
        }
    }

    @Test("12 two servers that migrate at once do it once")
    func twice() async throws {
        try await run { path in
            try await serve(path, Self.old)
            let (one, two) = (try SQLiteDatabase(path: path), try SQLiteDatabase(path: path))
            async let first = SyncStore(one, schema: Self.new).migrate()
            async let second = SyncStore(two, schema: Self.new).migrate()
            let counts = try await [first.count, second.count].sorted()
            #expect(counts[0] == 0 && counts[1] > 10)
            for database in [one, two] { await database.close() }
        }
    }

    @Test("13 an older server refuses the store of a newer one")
    func newer() async throws {
        try await run { path in
            try await serve(path, Self.old)
            try await change(path, "UPDATE sync_state SET schemaVersion = 3, tables = 'of the future'")
            let error = await #expect(throws: SyncStoreError.self) { try await serve(path, Self.old) }
            #expect(error?.code == .newerServer)
        }
    }

    @Test("7 every synced table has its stamp, its audit and its index; 8 every one is in the order of types")
    func complete() throws {
        let schema = try CheckedSchema(Self.new)
        let names = Set(SchemaObject.all(of: schema, .sqlite).map { "\($0.name)" })
        for table in Self.new.tables {
            for part in ["insert", "update", "move", "delete", "replace"] {
                #expect(names.contains("trigger 'sync_\(table.name)_\(part)'"))
            }
            #expect(names.contains("index 'sync_\(table.name)_position'") && names.contains("table '\(table.name)'"))
        }
        #expect(Set(schema.tables.map(\.name)) == Set(Self.new.tables.map(\.name)))
        let order = schema.tables.map(\.name)
        for table in Self.new.tables {
            for parent in table.columns.compactMap(\.parent?.table) where parent != table.name {
                #expect(try #require(order.firstIndex(of: parent)) < (try #require(order.firstIndex(of: table.name))))
            }
        }
    }

    @Test("what cannot be shared is refused with what it lacks", arguments: [0, 1, 2, 3, 4, 5])
    func unshareable(_ number: Int) {
        var schema = SharingServer.schema
        let word: String
        switch number {
        case 0:
            schema.containers[0].members = "nothing"
            word = "'nothing' cannot be synced"
        case 1:
            schema.tables[3].columns[1].parent?.onDelete = .noAction
            word = "ON DELETE CASCADE"
        case 2:
            schema.containers[0].account = "role"
            word = "never is NULL"
        case 3:
            schema.containers[0].role = "nothing"
            word = "'nothing' for the member's role"
        case 4:
            schema.partners?.table = "album"
            word = "two columns of its own"
            schema.tables[1].columns += schema.tables[4].columns
        default:
            schema.containers.append(schema.containers[0])
            word = "part of two shared containers"
        }
        let error = #expect(throws: SyncSchemaError.self) { try CheckedSchema(schema) }
        #expect(error?.description.contains(word) == true, "\(error?.description ?? "")")
    }

    @Test("9 the schema of an app's database is what its synced tables are")
    func app() async throws {
        try await run { path in
            try await change(
                path,
                """
                CREATE TABLE lfs_file (id TEXT PRIMARY KEY); CREATE TABLE lfs_sync_table (name TEXT);
                CREATE TABLE step (id TEXT PRIMARY KEY, recipeID TEXT NOT NULL REFERENCES recipe(id) ON DELETE CASCADE);
                CREATE TABLE recipe (
                    id TEXT PRIMARY KEY, title TEXT NOT NULL, rating DOUBLE, servings INTEGER, image BLOB,
                    photoID TEXT REFERENCES lfs_file(id) ON DELETE SET NULL);
                INSERT INTO lfs_sync_table VALUES ('lfs_file'), ('step'), ('recipe')
                """)
            let schema = try SyncSchema(databaseAt: path)
            let expected = SyncSchema(tables: [
                .init(
                    "step", [.init("recipeID", .text, isRequired: true, parent: .init("recipe", onDelete: .cascade))]),
                .init(
                    "recipe",
                    [
                        .init("title", .text, isRequired: true), .init("rating", .real), .init("servings", .integer),
                        .init("image", .blob),
                        .init("photoID", .text, parent: .init("lfs_file", onDelete: .setNull)),
                    ]),
            ])
            #expect(schema == expected)
            try await serve(path + "2", schema)
        }
    }
}

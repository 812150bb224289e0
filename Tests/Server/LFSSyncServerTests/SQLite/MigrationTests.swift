import Foundation
import LFSWire
import TestSupport
import Testing

@testable import LFSSyncServer

@Suite("Schema of the server's store", .timeLimit(.minutes(10)))
struct MigrationTests {
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

    private func run(_ body: (_ path: String) async throws -> Void) async throws {
        try await withTemporaryFolder { try await body($0.appending(path: "sync.sqlite").path) }
    }

    /// Opens a server on the file, runs a body, and closes the server.
    private func serve(_ path: String, schema: SyncSchema, _ body: (TestServer) async throws -> Void = { _ in })
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

    private func change(_ path: String, statement: String) async throws {
        let database = try SQLiteDatabase(path: path)
        try await database.write { try $0.run(script: statement) }
        await database.close()
    }

    /// Returns the columns of each table, and all indexes and triggers.
    private func shape(_ path: String) async throws -> [String] {
        let database = try SQLiteDatabase(path: path)
        let shape = try await database.read { db in
            var shape: [String] = []
            try db.query(
                """
                SELECT m.name || '.' || c.name || ' ' || c.type || c."notnull" FROM sqlite_master m
                JOIN pragma_table_info(m.name) c WHERE m.type = 'table'
                UNION ALL SELECT name || sql FROM sqlite_master WHERE type <> 'table' AND sql IS NOT NULL ORDER BY 1
                """, arguments: []
            ) { row in
                shape.append(try row.text(0) ?? "")
                return true
            }
            return shape
        }
        await database.close()
        return shape
    }

    @Test("A migrated store equals a new one and keeps its rows")
    func added() async throws {
        try await run { path in
            try await serve(path, schema: Self.old) { server in
                let device = try await server.device()
                try await device.put("RecipeV1", key: "r1", values: ["title": .text("Soup")])
                #expect(try await device.sync(types: [try #require(SyncType("RecipeV1"))]) == ["Recipe r1"])
            }
            let store = try SyncStore(try SQLiteDatabase(path: path), schema: Self.new)
            let pending = try await store.pending()
            #expect(pending.contains { $0.hasPrefix("ALTER TABLE \"recipe\" ADD COLUMN \"rating\"") })
            #expect(try await store.pending() == pending)
            try await serve(path, schema: Self.new) { server in
                let device = try await server.device()
                let type = try #require(SyncType("RecipeV2"))
                let delivery = try await device.delivery(types: [type])
                #expect(delivery.items == ["Recipe r1"] && delivery.rows.first?["rating"] == .null)
                try await device.acknowledge(delivery.tokens)
                let outcome = try await device.push(.patch, type: "RecipeV2", key: "r1", values: ["rating": .real(5)])
                    .outcome
                #expect(outcome.isApplied)
                #expect(try await device.sync(types: [type]) == ["Recipe r1"])
            }
            #expect(try await store.migrate() == [])
            try await serve(path + "2", schema: Self.new)
            #expect(try await shape(path) == shape(path + "2"))
        }
    }

    @Test("A new column that is never NULL gets its default in existing rows")
    func addedDefault() async throws {
        var new = Self.old
        new.tables[1].columns.append(
            .init("width", kind: .integer, isRequired: true, since: 2, defaultValue: .integer(100)))
        try await run { path in
            try await serve(path, schema: Self.old) { server in
                let device = try await server.device()
                try await device.put("RecipeV1", key: "r1", values: ["title": .text("Soup")])
            }
            try await serve(path, schema: new) { server in
                let device = try await server.device()
                let delivery = try await device.delivery(types: [try #require(SyncType("RecipeV2"))])
                #expect(delivery.rows.map { $0["width"] } == [.integer(100)])
            }
            let store = try SyncStore(try SQLiteDatabase(path: path), schema: new)
            #expect(try await store.migrate() == [])
            try await serve(path + "2", schema: new)
            #expect(try await shape(path) == shape(path + "2"))
        }
    }

    /// Removes from a store the additions that came without a new version.
    private func removeAdditions(_ server: TestServer) async throws {
        for name in SchemaAddition.names(.sqlite) {
            try await server.execute(name.removal, "DELETE FROM sync_object WHERE name = '\(name.name)'")
        }
        try await server.execute(
            "ALTER TABLE sync_scope DROP COLUMN deletionCount", "ALTER TABLE sync_account DROP COLUMN removalBytes",
            "ALTER TABLE sync_state DROP COLUMN earlierTables", "ALTER TABLE sync_state DROP COLUMN oldestVersion")
        try await noteTables(["sync_scope", "sync_account", "sync_state"], server: server)
    }

    /// Records the current definitions of tables.
    private func noteTables(_ names: [String], server: TestServer) async throws {
        for name in names {
            try await server.execute(
                """
                UPDATE sync_object SET definition = (SELECT sql FROM sqlite_schema WHERE name = '\(name)')
                WHERE name = '\(name)'
                """)
        }
    }

    /// Removes from a store all that version 4 has added.
    private func makeVersion3(_ server: TestServer) async throws {
        try await removeAdditions(server)
        let triggers = ["recipe", "lfs_file"].flatMap { table in
            ["insert", "update", "move", "delete"].map { "sync_\(table)_\($0)" }
        }
        for trigger in triggers {
            try await server.execute("DROP TRIGGER \(trigger); DELETE FROM sync_object WHERE name = '\(trigger)'")
        }
        let columns = [
            "sync_scope": ["rowCount", "rowBytes", "fileBytes"],
            "sync_account": ["rowLimit", "rowByteLimit", "fileByteLimit", "sessionLimit"],
            "sync_session": ["idleTime", "endsAt", "isReadOnly", "types"],
            "sync_state": ["markCount", "markID", "markCluster"],
        ]
        for (table, columns) in columns {
            for column in columns.reversed() {
                try await server.execute("ALTER TABLE \(table) DROP COLUMN \(column)")
            }
        }
        try await noteTables(columns.keys.sorted(), server: server)
        try await server.execute("UPDATE sync_state SET schemaVersion = 3")
    }

    @Test("A store of version 2 gets the times of checkpoints and keeps its rows")
    func checkpointTimes() async throws {
        try await run { path in
            try await serve(path, schema: Self.old) { server in
                let device = try await server.device()
                try await device.put("RecipeV1", key: "r1", values: ["title": .text("Soup")])
                try await device.sync(types: [try #require(SyncType("RecipeV1"))])
                try await makeVersion3(server)
                try await server.execute(
                    """
                    ALTER TABLE sync_checkpoint DROP COLUMN createdAt;
                    ALTER TABLE sync_checkpoint DROP COLUMN updatedAt;
                    UPDATE sync_object SET definition = (
                        SELECT sql FROM sqlite_schema WHERE name = 'sync_checkpoint')
                    WHERE name = 'sync_checkpoint';
                    UPDATE sync_state SET schemaVersion = 2
                    """)
            }
            let store = try SyncStore(try SQLiteDatabase(path: path), schema: Self.old)
            #expect(try await store.pending().count { $0.contains("sync_checkpoint") } == 2)
            try await serve(path, schema: Self.old) { server in
                let contacts = try #require(try await server.service.sessions().first).contacts
                #expect(contacts == [.init(type: "RecipeV1", firstAt: nil, lastAt: nil)])
            }
            #expect(try await store.pending() == [])
            try await serve(path + "2", schema: Self.old)
            #expect(try await shape(path) == shape(path + "2"))
        }
    }

    @Test("A store of version 3 gets counters with the rows that it has")
    func counters() async throws {
        try await run { path in
            var usage = AccountUsage()
            try await serve(path, schema: Self.old) { server in
                let device = try await server.device()
                try await device.put("RecipeV1", key: "r1", values: ["title": .text("Soup")])
                usage = try #require(try await server.service.accounts().first).usage
                try await makeVersion3(server)
            }
            #expect(usage.rows == 1)
            try await serve(path, schema: Self.old) { server in
                #expect(try await server.service.accounts().first?.usage == usage)
                let device = try await server.device()
                try await device.put("RecipeV1", key: "r2", values: ["title": .text("Soup")])
                #expect(try await server.service.accounts().first?.usage.rows == 2)
                #expect(try await server.service.recount() == 0)
            }
            try await serve(path + "2", schema: Self.old)
            #expect(try await shape(path) == shape(path + "2"))
        }
    }

    @Test("A store of an earlier server gets its additions without a new version")
    func additions() async throws {
        try await run { path in
            try await serve(path, schema: Self.old) { server in
                let device = try await server.device()
                for key in ["r1", "r2"] { try await device.put("RecipeV1", key: key, values: ["title": .text("Soup")]) }
                try await device.push(.delete, type: "RecipeV1", key: "r1")
                try await removeAdditions(server)
            }
            let store = try SyncStore(try SQLiteDatabase(path: path), schema: Self.old)
            #expect(try await store.pending() == SchemaAddition.all(.sqlite).flatMap(\.statements))
            try await serve(path, schema: Self.old) { (server) async throws in
                #expect(try await store.pending() == [])
                #expect(try await server.count("sync_scope", where: "deletionCount = 1 AND rowCount = 1") == 1)
                let names = SchemaAddition.names(.sqlite).map { "'\($0.name)'" }.joined(separator: ", ")
                // An earlier server removes only objects with a source.
                let kept = "source = '' AND name IN (\(names))"
                #expect(try await server.count("sync_object", where: kept) == SchemaAddition.names(.sqlite).count)
            }
            try await serve(path + "2", schema: Self.old)
            #expect(try await shape(path) == shape(path + "2"))
        }
    }

    @Test("A default of another kind is refused with its column", arguments: [0, 1, 2, 3])
    func wrongDefault(_ number: Int) {
        let columns: [SyncSchema.Column] = [
            .init("width", kind: .integer, defaultValue: .text("1")),
            .init("width", kind: .real, defaultValue: .real(.nan)),
            .init("width", kind: .text, defaultValue: .text("a\u{0}b")),
            .init("width", kind: .text, parent: .init("lfs_file"), defaultValue: .text("f1")),
        ]
        let schema = SyncSchema(tables: [.init("recipe", columns: [columns[number]])])
        let error = #expect(throws: SyncSchemaError.self) { try CheckedSchema(schema) }
        #expect(error?.description.contains("'width'") == true)
    }

    @Test("Tables shared by a new schema get scopes for existing rows")
    func shared() async throws {
        try await run { path in
            var alone = SharingServer.schema
            alone.containers = []
            alone.partners = nil
            try await serve(path, schema: alone) { server in
                let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
                try await ann.album("x")
                try await ann.share("x", other: bob)
                try await ann.letRead(bob)
                #expect(try await bob.sync() == [])
            }
            try await serve(path, schema: SharingServer.schema) { server in
                let bob = try await server.person("bob")
                try await bob.sync()
                #expect(bob.has("album/x") == ["Album x", "AlbumUser x-bob"])
                #expect(bob.rows.count == 2)
            }
        }
    }

    @Test(
        "A manually changed store is refused with the name of the difference",
        arguments: [
            ("DROP TRIGGER sync_album_insert", "trigger 'sync_album_insert' is missing"),
            ("DROP TRIGGER sync_album_user_joined", "trigger 'sync_album_user_joined' is missing"),
            ("DROP TRIGGER sync_member_added", "trigger 'sync_member_added' is missing"),
            ("DROP INDEX sync_album_position", "index 'sync_album_position' is missing"),
            ("DROP INDEX sync_member_row", "index 'sync_member_row' is missing"),
            ("DROP TABLE sync_tombstone", "table 'sync_tombstone' is missing"),
            ("DROP TABLE sync_object", "table 'sync_object' is missing"),
            ("DELETE FROM sync_state", "table 'sync_state' has no row"),
            ("DROP TABLE partner", "table 'partner' is missing"),
            ("ALTER TABLE album ADD COLUMN extra TEXT", "table 'album' is not the one"),
            ("ALTER TABLE sync_scope ADD COLUMN extra TEXT", "table 'sync_scope' is not the one"),
            (
                "DROP TRIGGER sync_note_move; CREATE TRIGGER sync_note_move AFTER INSERT ON note BEGIN SELECT 1; END",
                "trigger 'sync_note_move' is not the one"
            ),
        ])
    func drift(_ statement: String, name: String) async throws {
        try await run { path in
            try await serve(path, schema: SharingServer.schema)
            try await change(path, statement: "PRAGMA foreign_keys = OFF; " + statement)
            let error = await #expect(throws: SyncStoreError.self) {
                try await serve(path, schema: SharingServer.schema)
            }
            #expect(error?.code == .drift && error?.description.contains(name) == true, "\(error?.description ?? "")")
            let database = try SQLiteDatabase(path: path)
            let store = try SyncStore(database, schema: SharingServer.schema)
            await #expect(throws: SyncStoreError.self) { try await store.check() }
            await database.close()
        }
    }

    @Test("Triggers and tables of the app survive a migration")
    func host() async throws {
        try await run { path in
            try await serve(path, schema: Self.old)
            try await change(
                path,
                statement: """
                    CREATE TABLE audit (id); CREATE INDEX mine ON recipe(title);
                    CREATE TRIGGER mine AFTER INSERT ON recipe BEGIN INSERT INTO audit VALUES (NEW.id); END
                    """)
            try await serve(path, schema: Self.new) { server in
                let device = try await server.device()
                try await device.put("RecipeV1", key: "r1", values: ["title": .text("Soup")])
                #expect(try await server.count("audit") == 1)
            }
        }
    }

    @Test(
        "A destructive schema change is refused with its reason",
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
            word = "is text in the store, but blob"
        case 3:
            schema.tables[1].columns[1].isRequired = true
            word = "may be NULL in the store"
        case 4:
            schema.tables[1].columns[3].parent = nil
            word = "has a different reference"
        case 5:
            schema.tables[1].columns.append(.init("must", kind: .text, isRequired: true))
            word = "'must' of 'recipe' is new and never NULL"
        default:
            schema.containers = []
            word = "shares 'album'"
        }
        #expect(recipe.name == "recipe")
        try await run { [schema] path in
            try await serve(path, schema: Self.new)
            let before = try await shape(path)
            let error = await #expect(throws: SyncStoreError.self) { try await serve(path, schema: schema) }
            #expect(
                error?.code == .destructive && error?.description.contains(word) == true, "\(error?.description ?? "")")
            #expect(try await shape(path) == before)
        }
    }

    @Test("Two servers that migrate at the same time do it once")
    func twice() async throws {
        try await run { path in
            try await serve(path, schema: Self.old)
            let (one, two) = (try SQLiteDatabase(path: path), try SQLiteDatabase(path: path))
            async let first = SyncStore(one, schema: Self.new).migrate()
            async let second = SyncStore(two, schema: Self.new).migrate()
            let counts = try await [first.count, second.count].sorted()
            #expect(counts[0] == 0 && counts[1] > 10)
            for database in [one, two] { await database.close() }
        }
    }

    @Test("An older server refuses the store of a newer one")
    func newer() async throws {
        try await run { path in
            try await serve(path, schema: Self.old)
            try await change(
                path,
                statement: """
                    UPDATE sync_state SET schemaVersion = \(ServerTables.version + 1),
                        oldestVersion = \(ServerTables.version + 1), tables = 'of the future'
                    """)
            let error = await #expect(throws: SyncStoreError.self) { try await serve(path, schema: Self.old) }
            #expect(error?.code == .newerServer)
        }
    }

    @Test("Every synced table has its triggers and index, with parents first")
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

    @Test("An invalid sharing schema is refused with the reason", arguments: [0, 1, 2, 3, 4, 5])
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
            word = "is never NULL"
        case 3:
            schema.containers[0].role = "nothing"
            word = "'nothing' for the member's role"
        case 4:
            schema.partners?.table = "album"
            word = "two different columns"
            schema.tables[1].columns += schema.tables[4].columns
        default:
            schema.containers.append(schema.containers[0])
            word = "part of two shared containers"
        }
        let error = #expect(throws: SyncSchemaError.self) { try CheckedSchema(schema) }
        #expect(error?.description.contains(word) == true, "\(error?.description ?? "")")
    }

    @Test("The schema read from an app's database matches its synced tables")
    func app() async throws {
        try await run { path in
            try await change(
                path,
                statement: """
                    CREATE TABLE lfs_file (id TEXT PRIMARY KEY); CREATE TABLE lfs_sync_table (name TEXT);
                    CREATE TABLE step (
                        id TEXT PRIMARY KEY, recipeID TEXT NOT NULL REFERENCES recipe(id) ON DELETE CASCADE);
                    CREATE TABLE recipe (
                        id TEXT PRIMARY KEY, title TEXT NOT NULL, rating DOUBLE, servings INTEGER, image BLOB,
                        photoID TEXT REFERENCES lfs_file(id) ON DELETE SET NULL);
                    INSERT INTO lfs_sync_table VALUES ('lfs_file'), ('step'), ('recipe')
                    """)
            let schema = try SyncSchema(databaseAt: path)
            let expected = SyncSchema(tables: [
                .init(
                    "step",
                    columns: [
                        .init("recipeID", kind: .text, isRequired: true, parent: .init("recipe", onDelete: .cascade))
                    ]),
                .init(
                    "recipe",
                    columns: [
                        .init("title", kind: .text, isRequired: true), .init("rating", kind: .real),
                        .init("servings", kind: .integer),
                        .init("image", kind: .blob),
                        .init("photoID", kind: .text, parent: .init("lfs_file", onDelete: .setNull)),
                    ]),
            ])
            #expect(schema == expected)
            try await serve(path + "2", schema: schema)
        }
    }
}

import Foundation
import GRDB
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("Apps newer than their server", .timeLimit(.minutes(10)))
struct NewerAppTests {
    private static let recipe = SyncSchema.Table(
        "recipe",
        columns: [
            .init("title", kind: .text, isRequired: true), .init("servings", kind: .integer),
            .init("photoID", kind: .text, parent: .init("lfs_file", onDelete: .setNull)),
            .init("width", kind: .integer),
        ])
    private static let step = SyncSchema.Table(
        "step",
        columns: [
            .init("recipeID", kind: .text, isRequired: true, parent: .init("recipe", onDelete: .cascade)),
            .init("text", kind: .text),
        ])
    private static let note = SyncSchema.Table(
        "note",
        columns: [
            .init("recipeID", kind: .text, parent: .init("recipe", onDelete: .cascade)), .init("text", kind: .text),
        ])

    /// The server's schema after its upgrade, in which recipes have a width and there is a table of notes.
    private static let newer = SyncSchema(tables: [recipe, step, note])
    /// The upgraded schema without the table of notes.
    private static let wider = SyncSchema(tables: [recipe, step])

    private static let recipes = "SELECT id, title, width FROM recipe ORDER BY id"

    /// The migration of the app's next version.
    @Sendable private static func addWidth(_ db: Database) throws {
        try db.execute(sql: "ALTER TABLE recipe ADD COLUMN width INTEGER")
        try SyncedTable.install("recipe", in: db)
    }

    @Sendable private static func addNotes(_ db: Database) throws {
        try db.create(table: "note") { table in
            table.primaryKey("id", .text)
            table.column("recipeID", .text).references("recipe", onDelete: .cascade)
            table.column("text", .text)
        }
        try SyncedTable.install("note", in: db)
    }

    /// Returns the device as the app's next version opens it.
    private func upgraded(
        _ device: TestSync.Device, _ migrate: @escaping @Sendable (Database) throws -> Void
    ) async throws -> TestSync.Device {
        try await device.database.write { try migrate($0) }
        return TestSync.Device(
            database: device.database,
            client: try await TestSync.client(device.database, transport: device.transport, token: device.token),
            transport: device.transport, token: device.token)
    }

    /// Connects devices to the server with another schema.
    private func serve(_ schema: SyncSchema, sync: TestSync, devices: TestSync.Device...) async throws {
        let service = try await SyncService(sync.serverDatabase, schema: schema)
        for device in devices { device.transport.current.withLock { $0 = service } }
    }

    /// Makes the server record an older schema, as an older version of it would.
    private func forget(_ schema: SyncSchema, sync: TestSync) async throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = String(decoding: try encoder.encode(schema), as: UTF8.self)
        try await sync.execute("UPDATE sync_state SET tables = '\(text)'")
    }

    private func server(_ sync: TestSync, sql: String) async throws -> String? {
        try await sync.serverDatabase.read { try $0.firstText(sql, arguments: []) }
    }

    private static let both = "SELECT title || ' ' || coalesce(width, 0) FROM recipe WHERE id = 'r1'"

    @Test("An edit with a column unknown to the server waits whole and is then sent")
    func edit() async throws {
        try await TestSync.run { sync in
            let (old, two) = (try await sync.device("one"), try await sync.device("two"))
            try await old.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup')")
            for device in [old, two] { try await device.sync() }
            let one = try await upgraded(old, Self.addWidth)
            try await one.execute("UPDATE recipe SET title = 'mine', width = 640")
            for _ in 0..<2 {
                let report = try await one.sync()
                #expect(report.lacking == ["recipe.width"] && report.rejected == 0 && report.pending == 1)
                #expect(try await one.rows(Self.recipes) == ["r1|mine|640"])
            }
            #expect(try await one.database.read { try SyncReport.fetch($0)?.lacking } == ["recipe.width"])
            let found = try await one.client.verify()
            #expect(found.problems.map(\.kind) == [.waiting] && found.problems.map(\.id) == ["r1"])
            // Changes of other devices remove nothing from the edit.
            try await two.execute("UPDATE recipe SET title = 'theirs', servings = 4")
            try await two.sync()
            try await one.sync()
            #expect(try await one.rows("SELECT title, servings, width FROM recipe") == ["mine|4|640"])
            // A later edit becomes part of the same change.
            try await one.execute("UPDATE recipe SET width = 800")
            #expect(try await one.sync().pending == 1)
            try await serve(Self.newer, sync: sync, devices: one, two)
            let report = try await one.sync()
            #expect(report.sent == 1 && report.pending == 0 && report.lacking == [])
            #expect(try await server(sync, sql: Self.both) == "mine 800")
            try await two.sync()
            #expect(try await two.rows("SELECT title, servings FROM recipe") == ["mine|4"])
            #expect(try await one.client.verify().problems == [])
        }
    }

    @Test("A new row with an unknown column waits together with the rows that refer to it")
    func rows() async throws {
        try await TestSync.run { sync in
            let (old, two) = (try await sync.device("one"), try await sync.device("two"))
            for device in [old, two] { try await device.sync() }
            let one = try await upgraded(old, Self.addWidth)
            try await one.execute(
                """
                INSERT INTO recipe (id, title, width) VALUES ('r1', 'Soup', 640);
                INSERT INTO step (id, recipeID, text) VALUES ('s1', 'r1', 'Boil')
                """)
            #expect(try await one.sync().pending == 2)
            try await one.execute(
                """
                UPDATE recipe SET title = 'Broth';
                UPDATE step SET text = 'Simmer';
                INSERT INTO step (id, recipeID, text) VALUES ('s2', 'r1', 'Eat')
                """)
            let report = try await one.sync()
            #expect(report.pending == 3 && report.rejected == 0 && report.lacking == ["recipe.width"])
            #expect(try await one.client.verify().differences == [])
            try await serve(Self.newer, sync: sync, devices: one, two)
            #expect(try await one.sync().pending == 0)
            #expect(try await server(sync, sql: Self.both) == "Broth 640")
            try await two.sync()
            #expect(try await two.rows("SELECT id, text FROM step ORDER BY id") == ["s1|Simmer", "s2|Eat"])
            #expect(try await one.client.verify() == SyncVerification(compared: 3, differences: []))
        }
    }

    @Test("Deleting a waiting row sends a deletion only if the server has the row")
    func deletions() async throws {
        try await TestSync.run { sync in
            let old = try await sync.device("one")
            try await old.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup')")
            try await old.sync()
            let one = try await upgraded(old, Self.addWidth)
            try await one.execute(
                "UPDATE recipe SET width = 1; INSERT INTO recipe (id, title, width) VALUES ('r2', 'Stew', 2)")
            #expect(try await one.sync().pending == 2)
            try await one.execute("DELETE FROM recipe")
            let report = try await one.sync()
            #expect(report.pending == 0 && report.lacking == [] && report.rejected == 0)
            #expect(try await server(sync, sql: "SELECT count(*) || '' FROM recipe") == "0")
        }
    }

    @Test("Rows of a table that the server lacks wait until it has the table")
    func table() async throws {
        try await TestSync.run { sync in
            let (old, two) = (try await sync.device("one"), try await sync.device("two"))
            try await old.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup')")
            for device in [old, two] { try await device.sync() }
            let one = try await upgraded(old, Self.addNotes)
            try await one.execute(
                """
                UPDATE recipe SET title = 'Broth';
                INSERT INTO note (id, recipeID, text) VALUES ('n1', 'r1', 'Salty'), ('n2', 'r1', 'Hot')
                """)
            for _ in 0..<2 {
                let error = await #expect(throws: SyncError.self) { try await one.sync() }
                #expect(error?.code == .unknownType)
                let report = try await one.database.read { try SyncReport.fetch($0) }
                #expect(report?.lacking == ["note"] && report?.pending == 2 && report?.rejected == 0)
                try await one.execute(
                    """
                    DELETE FROM note WHERE id = 'n2';
                    UPDATE note SET text = 'Sweet' WHERE id = 'n1';
                    INSERT OR IGNORE INTO note (id, recipeID, text) VALUES ('n3', 'r1', 'Sour')
                    """)
            }
            // Changes of known tables were sent.
            #expect(try await server(sync, sql: "SELECT title FROM recipe") == "Broth")
            try await serve(Self.newer, sync: sync, devices: one, two)
            #expect(try await one.sync().pending == 0)
            let three = try await upgraded(try await sync.device("three"), Self.addNotes)
            try await serve(Self.newer, sync: sync, devices: three)
            try await three.sync()
            #expect(try await three.rows("SELECT id, text FROM note ORDER BY id") == ["n1|Sweet", "n3|Sour"])
            #expect(try await one.client.verify().problems == [])
        }
    }

    @Test("A server that regains a lost column receives the changes made without it")
    func rolledBack() async throws {
        try await TestSync.run { sync in
            let (old, two) = (try await sync.device("one"), try await sync.device("two"))
            try await old.sync()
            let one = try await upgraded(old, Self.addWidth)
            try await serve(Self.wider, sync: sync, devices: one, two)
            try await one.execute("INSERT INTO recipe (id, title, width) VALUES ('r1', 'Soup', 640)")
            #expect(try await one.sync().pending == 0)
            #expect(try await server(sync, sql: Self.both) == "Soup 640")
            try await forget(TestSync.schema, sync: sync)
            try await serve(TestSync.schema, sync: sync, devices: one, two)
            try await two.sync()
            try await two.execute("UPDATE recipe SET title = 'theirs'")
            try await two.sync()
            try await one.execute("UPDATE recipe SET width = 800")
            let report = try await one.sync()
            #expect(report.lacking == ["recipe.width"] && report.rejected == 0)
            #expect(try await one.rows(Self.recipes) == ["r1|theirs|800"])
            try await forget(Self.wider, sync: sync)
            try await serve(Self.wider, sync: sync, devices: one, two)
            #expect(try await one.sync().lacking == [])
            #expect(try await server(sync, sql: Self.both) == "theirs 800")
            #expect(try await one.client.verify() == SyncVerification(compared: 3, differences: []))
        }
    }

    @Test("A device that upgrades its app last receives earlier values of the new column")
    func versions() async throws {
        try await TestSync.run { sync in
            let (old, older) = (try await sync.device("one"), try await sync.device("two"))
            for device in [old, older] { try await device.sync() }
            let one = try await upgraded(old, Self.addWidth)
            try await serve(Self.newer, sync: sync, devices: one, older)
            try await one.execute("INSERT INTO recipe (id, title, width) VALUES ('r1', 'Soup', 640), ('r2', 'Pie', 1)")
            try await one.sync()
            try await older.sync()
            try await older.execute("UPDATE recipe SET title = 'Broth' WHERE id = 'r1'")
            try await older.sync()
            let two = try await upgraded(older, Self.addWidth)
            try await two.execute("UPDATE recipe SET title = 'Stew' WHERE id = 'r2'")
            for device in [two, one, two] { try await device.sync() }
            for device in [one, two] { #expect(try await device.rows(Self.recipes) == ["r1|Broth|640", "r2|Stew|1"]) }
            #expect(try await two.sync() == SyncReport())
        }
    }

    @Test("An older server's error message for a missing column is recognized")
    func olderServer() async throws {
        try await TestSync.run { sync in
            let one = try await upgraded(try await sync.device("one"), Self.addWidth)
            let table = try await one.database.read { try SyncedTable("recipe", in: $0) }
            let sent = Outbox.Sent(table: "recipe", key: "r1", operation: .patch, came: nil)
            func lack(_ code: WireFailure.Code, message: String) async throws -> String? {
                try await one.database.read {
                    try Outbox.lack(in: WireFailure(code, message: message), of: sent, table, $0)
                }
            }
            #expect(try await lack(.invalidRequest, message: "'RecipeV1' has no column 'width'.") == "recipe.width")
            #expect(try await lack(.unknownColumn, message: "'RecipeV1' has no column 'width'.") == "recipe.width")
            #expect(try await lack(.invalidRequest, message: "'RecipeV1' has no column 'other'.") == nil)
            #expect(try await lack(.invalidRequest, message: "The table 'recipe' does not accept the row: x") == nil)
            #expect(try await lack(.forbidden, message: "'RecipeV1' has no column 'width'.") == nil)
        }
    }

    @Test("Resending a refused change sends all of its values")
    func resend() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup'), ('r2', 'Pie')")
            for device in [one, two] { try await device.sync() }
            try await sync.execute(
                """
                CREATE TRIGGER closed BEFORE UPDATE OF title ON recipe
                BEGIN SELECT RAISE(ABORT, 'Not today.'); END
                """)
            try await one.execute("UPDATE recipe SET title = 'Broth', servings = 7 WHERE id = 'r1'")
            #expect(try await one.sync().rejected == 1)
            #expect(try await one.rows("SELECT title, servings FROM recipe WHERE id = 'r1'") == ["Soup|NULL"])
            let problem = try #require(try await one.client.verify().problems.first)
            #expect(problem.kind == .refused && problem.id == "r1")
            // The server still refuses the change, and nothing is lost.
            #expect(try await one.client.resend(problem) == 1)
            #expect(try await one.rows("SELECT title, servings FROM recipe WHERE id = 'r1'") == ["Broth|7"])
            #expect(try await one.sync().rejected == 1)
            try await sync.execute("DROP TRIGGER closed")
            #expect(try await one.client.resend(problem) == 1)
            let report = try await one.sync()
            #expect(report.rejected == 0 && report.pending == 0)
            try await two.sync()
            for device in [one, two] {
                #expect(try await device.rows("SELECT title, servings FROM recipe WHERE id = 'r1'") == ["Broth|7"])
            }
            #expect(try await one.client.resend(problem) == 0)
        }
    }

    @Test("Resending a change that was lost with its row restores it including blobs")
    func resendLost() async throws {
        let schema = SyncSchema(tables: [
            .init("picture", columns: [.init("name", kind: .text), .init("bytes", kind: .blob)])
        ])
        try await TestSync.run(schema: schema) { sync in
            let tables: @Sendable (Database) throws -> Void = { db in
                try db.execute(sql: "CREATE TABLE picture (id TEXT PRIMARY KEY NOT NULL, name TEXT, bytes BLOB)")
                try SyncedTable.install("picture", in: db)
            }
            let one = try await sync.device("one", tables: tables)
            let two = try await sync.device("two", tables: tables)
            try await one.execute("INSERT INTO picture VALUES ('p1', 'Sea', x'00ff')")
            for device in [one, two] { try await device.sync() }
            try await two.execute("DELETE FROM picture")
            try await two.sync()
            one.transport.faults.withLock { $0.refusesPushes = true }
            try await one.execute("UPDATE picture SET name = 'Sky', bytes = x'0102'")
            _ = await #expect(throws: SyncError.self) { try await one.sync() }
            one.transport.faults.withLock { $0.refusesPushes = false }
            #expect(try await one.rows("SELECT id FROM picture") == [])
            for problem in try await one.client.verify().problems { try await one.client.resend(problem) }
            #expect(try await one.sync().rejected == 0)
            try await two.sync()
            for device in [one, two] {
                #expect(try await device.rows("SELECT id, name, hex(bytes) FROM picture") == ["p1|Sky|0102"])
            }
        }
    }
}

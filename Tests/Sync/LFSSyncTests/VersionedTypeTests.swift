import Foundation
import GRDB
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("Versions of rows", .timeLimit(.minutes(10)))
struct VersionedTypeTests {
    /// A server's first schema: recipes have a title.
    private static let first = SyncSchema(tables: [
        .init("recipe", columns: [.init("title", kind: .text, isRequired: true)])
    ])
    /// The server's second schema: recipes have a width as well.
    private static let second = SyncSchema(tables: [
        .init(
            "recipe",
            columns: [
                .init("title", kind: .text, isRequired: true),
                .init("width", kind: .integer, isRequired: true, since: 2, defaultValue: .integer(100)),
            ])
    ])
    private static let schemas = [first, second]

    @Sendable private static func firstApp(_ db: Database) throws {
        try db.execute(sql: "CREATE TABLE recipe (id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL)")
        try SyncedTable.install("recipe", in: db)
    }

    /// The migration of the app's second version.
    @Sendable private static func upgrade(_ db: Database) throws {
        try db.execute(sql: "ALTER TABLE recipe ADD COLUMN width INTEGER NOT NULL DEFAULT 100")
        try SyncedTable.install("recipe", version: 2, in: db)
    }

    private static let rows = "SELECT id, title, width FROM recipe ORDER BY id"
    private static let titles = "SELECT id, title FROM recipe ORDER BY id"

    /// Returns a new device with one of the two apps.
    private func device(_ name: String, app: Int, sync: TestSync) async throws -> TestSync.Device {
        try await sync.device(name) { db in
            try Self.firstApp(db)
            if app == 2 { try Self.upgrade(db) }
        }
    }

    private func upgraded(_ device: TestSync.Device) async throws -> TestSync.Device {
        try await device.database.write { try Self.upgrade($0) }
        return TestSync.Device(
            database: device.database,
            client: try await TestSync.client(device.database, transport: device.transport, token: device.token),
            transport: device.transport, token: device.token)
    }

    private func serve(_ schema: SyncSchema, sync: TestSync, devices: [TestSync.Device]) async throws {
        let service = try await SyncService(sync.serverDatabase, schema: schema)
        for device in devices { device.transport.current.withLock { $0 = service } }
    }

    private func server(_ sync: TestSync, sql: String) async throws -> String? {
        try await sync.serverDatabase.read { try $0.firstText(sql, arguments: []) }
    }

    /// Requires that both devices have the same rows, and that nothing is left to do.
    private func converge(_ devices: [TestSync.Device], to rows: [String]) async throws {
        for device in devices + devices { try await device.sync() }
        for device in devices {
            #expect(try await device.rows(Self.rows) == rows)
            #expect(try await device.rows("SELECT * FROM lfs_sync_outbox") == [])
            #expect(try await device.client.verify() == SyncVerification(compared: 2, differences: []))
            #expect(try await device.sync() == SyncReport())
        }
    }

    /// Writes on a device with one of the apps and on one with the first app, and syncs both.
    private func exchange(_ one: TestSync.Device, two: TestSync.Device, app: Int) async throws {
        try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup')")
        try await two.execute("INSERT INTO recipe (id, title) VALUES ('r2', 'Pie')")
        for device in [one, two, one] { try await device.sync() }
        #expect(try await one.rows(Self.titles) == ["r1|Soup", "r2|Pie"])
        try await one.execute("UPDATE recipe SET title = 'Tart' WHERE id = 'r2'")
        try await two.execute("UPDATE recipe SET title = 'Broth' WHERE id = 'r1'")
        if app == 2 { try await one.execute("UPDATE recipe SET width = 640 WHERE id = 'r1'") }
        for device in [one, two, one] {
            let report = try await device.sync()
            #expect(report.rejected == 0 && report.parked == 0)
        }
        for device in [one, two] { #expect(try await device.rows(Self.titles) == ["r1|Broth", "r2|Tart"]) }
    }

    @Test(
        "Each app works with each server, whose upgrade comes first", arguments: [1, 2], [1, 2])
    func serverFirst(app: Int, server: Int) async throws {
        try await TestSync.run(schema: Self.schemas[server - 1]) { sync in
            var one = try await device("one", app: app, sync: sync)
            var two = try await device("two", app: 1, sync: sync)
            try await exchange(one, two: two, app: app)
            try await serve(Self.second, sync: sync, devices: [one, two])
            for device in [one, two] { try await device.sync() }
            if app == 1 { one = try await upgraded(one) }
            two = try await upgraded(two)
            try await converge([one, two], to: ["r1|Broth|\(app == 2 ? 640 : 100)", "r2|Tart|100"])
        }
    }

    @Test(
        "Each app works with each server, whose upgrade comes last", arguments: [1, 2], [1, 2])
    func appsFirst(app: Int, server: Int) async throws {
        try await TestSync.run(schema: Self.schemas[server - 1]) { sync in
            var one = try await device("one", app: app, sync: sync)
            var two = try await device("two", app: 1, sync: sync)
            try await exchange(one, two: two, app: app)
            if app == 1 { one = try await upgraded(one) }
            two = try await upgraded(two)
            try await two.execute("UPDATE recipe SET width = 800 WHERE id = 'r2'")
            for device in [one, two] { try await device.sync() }
            try await serve(Self.second, sync: sync, devices: [one, two])
            try await converge([one, two], to: ["r1|Broth|\(app == 2 ? 640 : 100)", "r2|Tart|800"])
        }
    }

    @Test("A newer app sends rows with defaults to an older server, and others later")
    func pending() async throws {
        try await TestSync.run(schema: Self.first) { sync in
            let one = try await device("one", app: 2, sync: sync)
            try await one.execute(
                "INSERT INTO recipe (id, title, width) VALUES ('r1', 'Soup', 100), ('r2', 'Pie', 640)")
            let report = try await one.sync()
            #expect(report.lacking == ["recipe.width"] && report.pending == 1 && report.rejected == 0)
            #expect(try await server(sync, sql: "SELECT group_concat(id) FROM recipe") == "r1")
            try await serve(Self.second, sync: sync, devices: [one])
            #expect(try await one.sync().lacking == [])
            #expect(
                try await server(
                    sync, sql: "SELECT group_concat(id || ' ' || width) FROM (SELECT * FROM recipe ORDER BY id)")
                    == "r1 100,r2 640")
        }
    }

    @Test("An edit made after the upgrade is not stale because of the new version")
    func fresh() async throws {
        try await TestSync.run(schema: Self.second) { sync in
            var options = SyncServiceOptions()
            options.conflicts["recipe"] = .rejectStale
            let service = try await SyncService(sync.serverDatabase, schema: Self.second, options: options)
            let old = try await device("one", app: 1, sync: sync)
            old.transport.current.withLock { $0 = service }
            try await old.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup')")
            for _ in 0..<2 { try await old.sync() }
            let one = try await upgraded(old)
            try await one.execute("UPDATE recipe SET title = 'Broth', width = 640")
            for _ in 0..<2 {
                let report = try await one.sync()
                #expect(report.rejected == 0 && report.pending == 0)
                try await one.execute("UPDATE recipe SET width = width + 1")
            }
            #expect(try await server(sync, sql: "SELECT title || width FROM recipe") == "Broth641")
        }
    }

    @Test("A device keeps its rows when a server falls back to the first version")
    func fallback() async throws {
        try await TestSync.run(schema: Self.second) { sync in
            let one = try await device("one", app: 2, sync: sync)
            try await one.execute("INSERT INTO recipe (id, title, width) VALUES ('r1', 'Soup', 640)")
            for _ in 0..<2 { try await one.sync() }
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            for (schema, title) in [(Self.first, "Broth"), (Self.second, "Stew")] {
                // The server records the schema as a server that has always had it.
                let text = String(decoding: try encoder.encode(schema), as: UTF8.self)
                try await sync.execute("UPDATE sync_state SET tables = '\(text)'")
                try await serve(schema, sync: sync, devices: [one])
                try await one.execute("UPDATE recipe SET title = '\(title)'")
                for _ in 0..<3 { try await one.sync() }
                #expect(try await one.rows(Self.rows) == ["r1|\(title)|640"])
                #expect(try await server(sync, sql: "SELECT title || width FROM recipe") == "\(title)640")
                #expect(try await one.rows("SELECT * FROM lfs_sync_outbox") == [])
            }
        }
    }

    @Test("A database of an earlier LFS gets version 1 for its tables and keeps its changes")
    func migrated() async throws {
        try await TestSync.run(schema: Self.first) { sync in
            let one = try await device("one", app: 1, sync: sync)
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup')")
            for _ in 0..<2 { try await one.sync() }
            try await one.execute(
                """
                UPDATE recipe SET title = 'Broth';
                ALTER TABLE lfs_sync_table DROP COLUMN version;
                ALTER TABLE lfs_sync_table DROP COLUMN since;
                DELETE FROM grdb_migrations WHERE identifier = 'lfs.sync.v3'
                """)
            try TestSync.migrate(one.database, Self.firstApp)
            let tables = try await one.rows("SELECT name, version, since FROM lfs_sync_table ORDER BY name")
            #expect(tables == ["lfs_file|1|{}", "recipe|1|{}"])
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r2', 'Pie')")
            #expect(try await one.sync().pending == 0)
            #expect(try await server(sync, sql: "SELECT group_concat(title) FROM recipe") == "Broth,Pie")
            #expect(try await one.sync() == SyncReport())
        }
    }

    @Test("The server reads versions and defaults from an app's database")
    func schemaOfApp() async throws {
        try await TestSync.run(schema: Self.first) { sync in
            let one = try await device("one", app: 2, sync: sync)
            #expect(try SyncSchema(databaseAt: one.database.path) == Self.second)
        }
    }

    @Test(
        "An install that older apps could not follow is refused with the reason",
        arguments: [
            ("ALTER TABLE recipe ADD COLUMN width INTEGER", 0, "the version 0"),
            ("ALTER TABLE recipe ADD COLUMN width INTEGER", 1_000, "the version 1000"),
            (
                """
                DROP TABLE recipe;
                CREATE TABLE recipe (id TEXT PRIMARY KEY, title TEXT NOT NULL, width INTEGER NOT NULL)
                """, 2, "new column 'width' is NOT NULL"
            ),
            (
                """
                DROP TABLE recipe;
                CREATE TABLE recipe (
                    id TEXT PRIMARY KEY, title TEXT NOT NULL, width TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP)
                """, 2, "Give it a constant default"
            ),
        ])
    func refused(_ sql: String, version: Int, reason: String) async throws {
        try await TestSync.run(schema: Self.first) { sync in
            let one = try await device("one", app: 1, sync: sync)
            let error = await #expect(throws: SyncError.self) {
                try await one.database.write { db in
                    try db.execute(sql: sql)
                    try SyncedTable.install("recipe", version: version, in: db)
                }
            }
            #expect(error?.code == .unsuitableTable && error?.message.contains(reason) == true, "\(error as Any)")
            #expect(try await one.sync() == SyncReport())
        }
    }

    @Test("A table keeps its version when it is installed again")
    func again() async throws {
        try await TestSync.run(schema: Self.second) { sync in
            let one = try await device("one", app: 2, sync: sync)
            let types = try await one.database.write { db in
                try SyncedTable.install("recipe", in: db)
                return try SyncedTable("recipe", in: db).types.map(\.description)
            }
            #expect(types == ["RecipeV2", "RecipeV1"])
            let error = await #expect(throws: SyncError.self) {
                try await one.database.write { try SyncedTable.install("recipe", version: 1, in: $0) }
            }
            #expect(error?.code == .unsuitableTable)
        }
    }
}

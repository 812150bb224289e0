import Foundation
import GRDB
import LFSSystem
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSync

@Suite("Parked rows", .timeLimit(.minutes(10)))
struct ParkedRowTests {
    private typealias Line = LineServer

    private static let recipes = "SELECT id, title, servings FROM recipe ORDER BY id"
    private static let parked = "SELECT tableName, key FROM lfs_sync_parked ORDER BY key"

    /// Runs a body with a device and the streams it receives, one per script. The clock is manual, so that a slow
    /// machine does not split a batch.
    private func run(
        _ scripts: [[String]], tables: @escaping @Sendable (Database) throws -> Void = TestSync.recipes,
        _ body: (TestSync.Device, SyncClient) async throws -> Void
    ) async throws {
        try await TestSync.run(isQuick: true) { sync in
            let device = try await sync.device("one", isQuick: true, tables: tables)
            // A first sync takes two streams.
            let server = LineServer(
                scripts: (scripts.prefix(1) + [[]] + scripts.dropFirst()).map { $0 + [Line.complete] })
            try await body(device, try await server.client(device.database, lineClock: ManualClock()))
        }
    }

    private static let parent = Line.row("RecipeV1", number: 900_000, id: "r1", data: #""title":"Soup""#)
    private static let child = Line.row("StepV1", number: 1, id: "s1", data: #""recipeID":"r1""#)

    @Test("A child before its parent in one batch is applied with it")
    func childFirst() async throws {
        try await run([[Self.child, Self.parent]]) { device, client in
            let log = ParkedLog()
            device.database.add(transactionObserver: log, extent: .databaseLifetime)
            let report = try await client.synchronize()
            #expect(report.received == 2 && report.parked == 0 && log.count == 0)
            #expect(try await device.rows("SELECT id FROM step JOIN recipe USING (id)") == [])
            #expect(try await device.rows("SELECT step.id FROM step JOIN recipe ON recipe.id = recipeID") == ["s1"])
        }
    }

    @Test("A child in an earlier batch than its parent is parked until the parent arrives")
    func batchBefore() async throws {
        let between = (0..<LineBatcher.lineLimit).map {
            Line.row("RecipeV1", number: $0, id: "x\($0)", data: #""title":"x""#)
        }
        try await run([[Self.child] + between + [Self.parent]]) { device, client in
            let log = ParkedLog()
            device.database.add(transactionObserver: log, extent: .databaseLifetime)
            let report = try await client.synchronize()
            #expect(report.parked == 0 && log.count == 1)
            #expect(try await device.rows("SELECT step.id FROM step JOIN recipe ON recipe.id = recipeID") == ["s1"])
            #expect(try await device.rows("SELECT count(*) FROM recipe") == ["\(LineBatcher.lineLimit + 1)"])
        }
    }

    @Test("A row that makes an SQL function of the app fail is parked")
    func hostFunction() async throws {
        let rows = [
            Line.row("RecipeV1", number: 1, id: "r1", data: #""title":"Soup""#),
            Line.row("RecipeV1", number: 2, id: "r2", data: #""title":"[1]""#),
        ]
        try await run([rows], tables: Self.parsing) { device, client in
            let report = try await client.synchronize()
            #expect(report.parked == 1)
            #expect(try await device.rows("SELECT id FROM recipe") == ["r2"])
            #expect(try await device.rows(Self.parked) == ["recipe|r1"])
        }
    }

    @Sendable private static func parsing(_ db: Database) throws {
        try TestSync.recipes(db)
        // SQLite refuses invalid JSON with its most general error code.
        try db.execute(
            sql: """
                CREATE TRIGGER parse BEFORE INSERT ON recipe WHEN json_extract(NEW.title, '$') IS NULL
                BEGIN SELECT 1; END
                """)
    }

    @Test("A deletion cascades to an unsent row with a binary id and records it as refused")
    func oddKey() async throws {
        try await run([[Line.row("RecipeV1", number: 1, id: "r1", data: #""title":"Soup""#)]]) { device, client in
            try await client.synchronize()
            try await device.execute("INSERT INTO step (id, recipeID) VALUES (x'0102', 'r1')")
            let token = try #require(SyncToken(Line.token("RecipeV1", number: 2)))
            let outcome = try await device.database.write { db in
                try BatchApply(SyncedTable.all(db)).run([.deletion(key: "r1", token)], way: .oneByOne, db)
            }
            #expect(outcome.changed == 1)
            #expect(try await device.rows("SELECT * FROM lfs_sync_parked") == [])
            #expect(try await device.rows("SELECT mutation LIKE '%0102%' FROM lfs_sync_rejection") == ["1"])
        }
    }

    @Test("A row that refers to itself is applied although another row waits for its parent")
    func ownParent() async throws {
        let rows = [
            Line.row("CategoryV1", number: 1, id: "c1", data: #""parentID":"c1""#),
            Line.row("CategoryV1", number: 2, id: "c2", data: #""parentID":"none""#),
        ]
        try await run([rows], tables: Self.categories) { device, client in
            let report = try await client.synchronize()
            #expect(report.parked == 1)
            #expect(try await device.rows("SELECT id FROM category") == ["c1"])
            #expect(try await device.rows(Self.parked) == ["category|c2"])
        }
    }

    @Test("Rows in reference cycles across batches are applied once the cycle is complete")
    func circles() async throws {
        func album(_ id: String, cover: String) -> String {
            Line.row("AlbumV1", number: 1, id: id, data: #""coverID":"\#(cover)""#)
        }
        func picture(_ id: String, album: String, size: Int = 1) -> String {
            Line.row("PictureV1", number: 900_000, id: id, data: #""albumID":"\#(album)","size":\#(size)"#)
        }
        let albums = [
            album("a1", cover: "p1"), album("a2", cover: "none"), album("a3", cover: "p3"), album("a4", cover: "p1"),
            album("a5", cover: "p5"),
        ]
        let between = (0..<LineBatcher.lineLimit).map {
            Line.row("RecipeV1", number: $0, id: "x\($0)", data: #""title":"x""#)
        }
        // p3 is refused, so that a3 has no cover. p4 belongs to an album without a cover and is parked with it.
        let pictures = [
            picture("p1", album: "a1"), picture("p3", album: "a3", size: 0), picture("p4", album: "a2"),
            picture("p5", album: "a4"),
        ]
        try await run([albums + between + pictures], tables: Self.albums) { device, client in
            let report = try await client.synchronize()
            #expect(report.parked == 4)
            #expect(try await device.rows("SELECT id FROM album ORDER BY id") == ["a1", "a4", "a5"])
            #expect(try await device.rows("SELECT id FROM picture ORDER BY id") == ["p1", "p5"])
            let left = try await device.rows("SELECT key FROM lfs_sync_parked ORDER BY key")
            #expect(left == ["a2", "a3", "p3", "p4"])
            #expect(try await device.rows("PRAGMA foreign_key_check") == [])
        }
    }

    @Sendable private static func albums(_ db: Database) throws {
        try TestSync.recipes(db)
        try db.execute(
            sql: """
                CREATE TABLE album (id TEXT PRIMARY KEY, coverID TEXT REFERENCES picture);
                CREATE TABLE picture (
                    id TEXT PRIMARY KEY, albumID TEXT NOT NULL REFERENCES album, size INTEGER CHECK (size > 0));
                """)
        for table in ["album", "picture"] { try SyncedTable.install(table, in: db) }
    }

    @Test("A deletion that a deferred foreign key forbids is parked until it is possible")
    func deferredKey() async throws {
        let first = [
            Line.row("ShelfV1", number: 1, id: "s1", data: ""),
            Line.row("BookV1", number: 2, id: "b1", data: #""shelfID":"s1""#),
        ]
        let second = [
            Line.deletion("ShelfV1", number: 3, id: "s1"), Line.row("ShelfV1", number: 4, id: "s2", data: ""),
        ]
        let third = [Line.deletion("BookV1", number: 5, id: "b1")]
        try await run([first, second, third], tables: Self.shelves) { device, client in
            #expect(try await client.synchronize().parked == 0)
            let report = try await client.synchronize()
            #expect(report.parked == 1)
            #expect(try await device.rows("SELECT id FROM shelf ORDER BY id") == ["s1", "s2"])
            #expect(try await device.rows(Self.parked) == ["shelf|s1"])
            #expect(try await client.synchronize().parked == 0)
            #expect(try await device.rows("SELECT id FROM shelf UNION SELECT id FROM book") == ["s2"])
        }
    }

    @Sendable private static func shelves(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE shelf (id TEXT PRIMARY KEY);
                CREATE TABLE book (
                    id TEXT PRIMARY KEY, shelfID TEXT NOT NULL REFERENCES shelf DEFERRABLE INITIALLY DEFERRED);
                """)
        for table in ["shelf", "book"] { try SyncedTable.install(table, in: db) }
    }

    @Sendable private static func categories(_ db: Database) throws {
        try db.create(table: "category") { table in
            table.primaryKey("id", .text)
            table.column("parentID", .text).references("category")
        }
        try SyncedTable.install("category", in: db)
    }

    @Test("A row whose parent never arrives stays parked, and others are applied")
    func neverComes() async throws {
        let rest = [
            Line.row("RecipeV1", number: 2, id: "r2", data: #""title":"Stew""#),
            Line.row("StepV1", number: 3, id: "s2", data: #""recipeID":"r2""#),
        ]
        let later = [Line.row("StepV1", number: 4, id: "s3", data: #""recipeID":"r2""#)]
        try await run([[Self.child] + rest, later, []]) { device, client in
            for count in [2, 1, 0] {
                let report = try await client.synchronize()
                #expect(report.received == count && report.parked == 1)
            }
            #expect(try await device.rows("SELECT id FROM step ORDER BY id") == ["s2", "s3"])
            #expect(try await device.rows(Self.parked) == ["step|s1"])
            let token = "SELECT token FROM lfs_sync_checkpoint WHERE type = 'StepV1'"
            #expect(try await device.rows(token) == [Line.token("StepV1", number: 4)])
        }
    }

    @Test("A row that violates a CHECK of the app is parked with the reason")
    func check() async throws {
        let rows = [
            Line.row("RecipeV1", number: 1, id: "r1", data: #""title":"Feast","servings":5000"#),
            Line.row("RecipeV1", number: 2, id: "r2", data: #""title":"Soup","servings":4"#),
        ]
        try await run([rows]) { device, client in
            let report = try await client.synchronize()
            #expect(report.received == 1 && report.parked == 1)
            #expect(try await device.rows(Self.recipes) == ["r2|Soup|4"])
            #expect(try await device.rows("SELECT reason FROM lfs_sync_parked").first?.contains("CHECK") == true)
        }
    }

    @Test("A row with a value of a wrong type is parked", arguments: [#""many""#, #"{"hex":"00ff"}"#, "1.5", "null"])
    func wrongType(_ value: String) async throws {
        let rows = [
            Line.row("RecipeV1", number: 1, id: "r1", data: #""title":"Feast","servings":\#(value)"#),
            Line.row("RecipeV1", number: 2, id: "r2", data: #""title":"Soup","servings":4"#),
        ]
        let strict: @Sendable (Database) throws -> Void = { db in
            try db.execute(
                sql: "CREATE TABLE recipe (id TEXT PRIMARY KEY, title TEXT, servings INTEGER NOT NULL) STRICT")
            try SyncedTable.install("recipe", in: db)
        }
        try await run([rows], tables: strict) { (device, client) async throws in
            #expect(try await client.synchronize().parked == 1)
            #expect(try await device.rows(Self.recipes) == ["r2|Soup|4"])
            #expect(try await device.rows(Self.parked) == ["recipe|r1"])
        }
    }

    @Test("A row that only a newer app accepts is applied after the app's update")
    func newerApp() async throws {
        let table: @Sendable (Database, String) throws -> Void = { db, kinds in
            try db.execute(
                sql: """
                    CREATE TABLE dish (id TEXT PRIMARY KEY, kind TEXT NOT NULL CHECK (kind IN (\(kinds))));
                    """)
        }
        let rows = [
            Line.row("DishV1", number: 1, id: "d1", data: #""kind":"raw""#),
            Line.row("DishV1", number: 2, id: "d2", data: #""kind":"hot""#),
        ]
        try await run(
            [rows, []],
            tables: { db in
                try table(db, "'hot', 'cold'")
                try SyncedTable.install("dish", in: db)
            }
        ) { (device, client) async throws in
            #expect(try await client.synchronize().parked == 1)
            try await device.database.write { db in
                try db.execute(sql: "ALTER TABLE dish RENAME TO old")
                try table(db, "'hot', 'cold', 'raw'")
                try db.execute(sql: "INSERT INTO dish SELECT * FROM old; DROP TABLE old")
                try SyncedTable.install("dish", in: db)
            }
            let report = try await client.synchronize()
            #expect(report.parked == 0 && report.received == 1 && report.sent == 0)
            #expect(try await device.rows("SELECT * FROM dish ORDER BY id") == ["d1|raw", "d2|hot"])
        }
    }

    @Test("An unknown column is ignored")
    func unknownColumn() async throws {
        let row = Line.row("RecipeV1", number: 1, id: "r1", data: #""title":"Soup","colour":"red","servings":4"#)
        try await run([[row]]) { (device, client) async throws in
            #expect(try await client.synchronize().parked == 0)
            #expect(try await device.rows(Self.recipes) == ["r1|Soup|4"])
        }
    }

    @Test("A column that the server lacks keeps its value or gets its default")
    func missingColumn() async throws {
        let tables: @Sendable (Database) throws -> Void = { db in
            try db.execute(
                sql: """
                    CREATE TABLE dish (id TEXT PRIMARY KEY, title TEXT, hot INTEGER NOT NULL DEFAULT 7);
                    CREATE TABLE cup (id TEXT PRIMARY KEY, title TEXT, size INTEGER NOT NULL);
                    """)
            for table in ["dish", "cup"] { try SyncedTable.install(table, in: db) }
        }
        let first = [
            Line.row("DishV1", number: 1, id: "d1", data: #""title":"x""#),
            Line.row("CupV1", number: 1, id: "c1", data: #""title":"x""#),
        ]
        try await run([first, [Line.row("DishV1", number: 2, id: "d1", data: #""title":"y""#)]], tables: tables) {
            device, client in
            let report = try await client.synchronize()
            #expect(report.parked == 1)
            #expect(try await device.rows("SELECT * FROM dish") == ["d1|x|7"])
            #expect(try await device.rows(Self.parked) == ["cup|c1"])
            try await device.database.write { db in try db.execute(sql: "UPDATE dish SET hot = 1") }
            #expect(try await device.rows("SELECT count(*) FROM lfs_sync_outbox") == ["1"])
            await #expect(throws: SyncError.self) { try await client.synchronize() }
            #expect(try await device.rows("SELECT * FROM dish") == ["d1|y|1"])
        }
    }

    @Test("A newer line or a deletion replaces a parked row")
    func replaced() async throws {
        func feast(_ number: Int, servings: Int) -> String {
            Line.row(
                "RecipeV1", number: number, id: "r\(number % 10)", data: #""title":"Feast","servings":\#(servings)"#)
        }
        let scripts = [
            [feast(1, servings: 5_000), feast(2, servings: 6_000), feast(3, servings: 7_000)],
            [feast(11, servings: 4), Line.deletion("RecipeV1", number: 12, id: "r2"), feast(13, servings: 8_000)],
        ]
        try await run(scripts) { device, client in
            #expect(try await client.synchronize().parked == 3)
            let report = try await client.synchronize()
            #expect(report.parked == 1 && report.received == 1)
            #expect(try await device.rows(Self.recipes) == ["r1|Feast|4"])
            #expect(try await device.rows("SELECT key, row LIKE '%8000%' FROM lfs_sync_parked") == ["r3|1"])
        }
    }

    /// Returns the number of statements that a device runs for a number of rows that cannot be applied.
    private func statements(_ count: Int) async throws -> Int {
        let rows = (0..<count).map { Line.row("StepV1", number: $0, id: "s\($0)", data: #""recipeID":"never""#) }
        let statements = Mutex(0)
        try await run([rows]) { (device, client) async throws in
            try await device.database.write { db in db.trace { _ in statements.withLock { $0 += 1 } } }
            #expect(try await client.synchronize().parked == count)
        }
        return statements.withLock { $0 }
    }

    @Test("The cost of parked rows grows linearly")
    func linear() async throws {
        let (few, many) = (try await statements(1_000), try await statements(10_000))
        #expect(many <= 11 * few, "\(few) and \(many)")
    }
}

/// An observer that counts the parked rows.
private final class ParkedLog: TransactionObserver, @unchecked Sendable {
    // Unchecked: only the writer's queue calls it, and the test reads it when no write runs.
    private(set) var count = 0

    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool {
        if case .insert(let table) = kind { return table == "lfs_sync_parked" }
        return false
    }

    func databaseDidChange(with event: DatabaseEvent) { count += 1 }
    func databaseDidCommit(_ db: Database) {}
    func databaseDidRollback(_ db: Database) {}
}

import GRDB
import LFSWire
import Synchronization
import Testing

@testable import LFSSync

/// Tests of rows that one statement writes together.
@Suite("Combined insert statements", .timeLimit(.minutes(10)))
struct RowQueueTests {
    private static let values = "INSERT INTO thing VALUES ('x', 1, 1.5, 'text', x'00ff')"

    private func withQueue(_ body: (RowQueue, Database) throws -> Void) throws {
        try DatabaseQueue().write { db in
            try db.execute(
                sql: """
                    CREATE TABLE thing (id TEXT PRIMARY KEY NOT NULL, number INTEGER, share REAL, title, image BLOB)
                    """)
            try body(RowQueue(try SyncedTable("thing", in: db)), db)
        }
    }

    private func row(_ json: String) throws -> SyncRow {
        try Array(json.utf8).withUnsafeBytes { bytes in
            var scanner = JSONScanner(bytes)
            return try SyncRow(&scanner)
        }
    }

    private func rows(_ db: Database) throws -> [String] {
        try String.fetchAll(
            db,
            sql: """
                SELECT id || '|' || quote(number) || '|' || quote(share) || '|' || quote(title) || '|' || quote(image)
                    || '|' || typeof(title) FROM thing ORDER BY rowid
                """)
    }

    @Test("Any number of rows is written in order with values of each type")
    func all() throws {
        for count in 0...40 {
            try withQueue { queue, db in
                var changed = 0
                for number in 0..<count {
                    let text = String(repeating: "é", count: number * 50)
                    let row = try row(
                        """
                        {"id":"r\(number)","number":\(number - 1),"share":0.5,"title":"\(text)","image":{"hex":"00ff"}}
                        """)
                    #expect(try queue.add(row, changed: &changed, db))
                }
                try queue.flush(&changed, db)
                #expect(changed == count)
                #expect(
                    try rows(db)
                        == (0..<count).map {
                            "r\($0)|\($0 - 1)|0.5|'\(String(repeating: "é", count: $0 * 50))'|X'00FF'|text"
                        })
            }
        }
    }

    @Test("Columns in another order and empty or null values are written correctly")
    func orders() throws {
        try withQueue { queue, db in
            var changed = 0
            for json in [
                #"{"id":"a","number":1,"share":2.5,"title":"t","image":{"hex":"01"}}"#,
                #"{"id":"b","image":{"hex":""},"title":"","share":null,"number":null}"#,
                #"{"id":"c","number":3,"share":1e300,"title":7,"image":null}"#,
            ] {
                #expect(try queue.add(row(json), changed: &changed, db))
            }
            try queue.flush(&changed, db)
            #expect(
                try rows(db) == [
                    "a|1|2.5|'t'|X'01'|text", "b|NULL|NULL|''|X''|text", "c|3|1.0e+300|7|NULL|integer",
                ])
            #expect(changed == 3)
        }
    }

    @Test(
        "A row that differs from its table or contains a null byte is not combined",
        arguments: [
            #"{"id":"a","number":1,"share":2.5,"title":"t"}"#,
            #"{"number":1,"id":"a","share":2.5,"title":"t","image":null}"#,
            #"{"id":"a","number":1,"share":2.5,"title":"t","image":null,"more":1}"#,
            #"{"id":7,"number":1,"share":2.5,"title":"t","image":null}"#,
            #"{"id":"a\u0000b","number":1,"share":2.5,"title":"t","image":null}"#,
            #"{"id":"a","number":1,"share":2.5,"title":"t\u0000","image":null}"#, "{}",
        ])
    func others(_ json: String) throws {
        try withQueue { queue, db in
            var changed = 0
            let usual = try row(#"{"id":"u","number":1,"share":2.5,"title":"t","image":null}"#)
            #expect(try queue.add(usual, changed: &changed, db))
            #expect(try queue.add(row(json), changed: &changed, db) == false)
            try queue.flush(&changed, db)
            #expect(try rows(db) == ["u|1|2.5|'t'|NULL|text"] && changed == 1)
        }
    }

    @Test("An unchanged row counts no change, and a failed statement can be repeated")
    func again() throws {
        try withQueue { queue, db in
            let usual = try row(#"{"id":"u","number":1,"share":2.5,"title":"t","image":null}"#)
            try db.execute(sql: "CREATE UNIQUE INDEX one ON thing(number)")
            for expected in [1, 0] {
                var changed = 0
                #expect(try queue.add(usual, changed: &changed, db))
                try queue.flush(&changed, db)
                #expect(changed == expected)
            }
            let twin = try row(#"{"id":"v","number":1,"share":2.5,"title":"t","image":null}"#)
            var changed = 0
            #expect(try queue.add(twin, changed: &changed, db))
            #expect(throws: DatabaseError.self) { try queue.flush(&changed, db) }
            try db.execute(sql: "DROP INDEX one")
            #expect(try queue.add(twin, changed: &changed, db))
            try queue.flush(&changed, db)
            #expect(try rows(db) == ["u|1|2.5|'t'|NULL|text", "v|1|2.5|'t'|NULL|text"])
        }
    }
}

/// Tests of the order in which foreign keys are checked.
@Suite("Foreign key checks of a batch", .timeLimit(.minutes(10)))
struct BatchWayTests {
    private typealias Line = LineServer

    /// - Returns: the number of batches whose foreign keys were checked at their end.
    private func run(_ lines: [String], expecting rows: [String], parked: Int = 0) async throws -> Int {
        let deferrals = Mutex(0)
        try await TestSync.run(isQuick: true) { sync in
            let device = try await sync.device("one", isQuick: true)
            let client = try await LineServer(scripts: [lines + [Line.complete], [Line.complete]])
                .client(device.database)
            try await device.database.write { db in
                db.trace { event in
                    if "\(event)".contains("defer_foreign_keys") { deferrals.withLock { $0 += 1 } }
                }
            }
            let report = try await client.synchronize()
            try await device.database.write { db in db.trace() }
            #expect(report.parked == parked)
            #expect(try await device.rows("SELECT id FROM recipe UNION ALL SELECT id FROM step ORDER BY 1") == rows)
        }
        return deferrals.withLock { $0 }
    }

    private static let recipe = Line.row("RecipeV1", number: 1, id: "r1", data: #""title":"Soup""#)
    private static let step = Line.row("StepV1", number: 2, id: "s1", data: #""recipeID":"r1""#)

    @Test("Rows in parent order are written without deferring foreign keys")
    func inOrder() async throws {
        #expect(try await run([Self.recipe, Self.step], expecting: ["r1", "s1"]) == 0)
    }

    @Test("Foreign keys are deferred for a child that arrives before its parent")
    func together() async throws {
        #expect(try await run([Self.step, Self.recipe], expecting: ["r1", "s1"]) == 1)
        #expect(try await run([Self.step], expecting: [], parked: 1) == 1)
    }
}

import GRDB
import LFSWire
import Synchronization
import Testing

@testable import LFSSync

/// Rows that are written with others.
@Suite("Rows in one statement", .timeLimit(.minutes(10)))
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

    @Test("any number of rows is written as they came, with the values of each kind, in their order")
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
                    #expect(try queue.add(row, &changed, db))
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

    @Test("columns in another order, empty values and none go where they belong, among rows of the usual order")
    func orders() throws {
        try withQueue { queue, db in
            var changed = 0
            for json in [
                #"{"id":"a","number":1,"share":2.5,"title":"t","image":{"hex":"01"}}"#,
                #"{"id":"b","image":{"hex":""},"title":"","share":null,"number":null}"#,
                #"{"id":"c","number":3,"share":1e300,"title":7,"image":null}"#,
            ] {
                #expect(try queue.add(row(json), &changed, db))
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
        "a row that is not like its table, or could be cut off, is left to another way",
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
            #expect(try queue.add(usual, &changed, db))
            #expect(try queue.add(row(json), &changed, db) == false)
            try queue.flush(&changed, db)
            #expect(try rows(db) == ["u|1|2.5|'t'|NULL|text"] && changed == 1)
        }
    }

    @Test("a row that is there as it comes changes nothing, and a statement that has failed can be run again")
    func again() throws {
        try withQueue { queue, db in
            let usual = try row(#"{"id":"u","number":1,"share":2.5,"title":"t","image":null}"#)
            try db.execute(sql: "CREATE UNIQUE INDEX one ON thing(number)")
            for expected in [1, 0] {
                var changed = 0
                #expect(try queue.add(usual, &changed, db))
                try queue.flush(&changed, db)
                #expect(changed == expected)
            }
            let twin = try row(#"{"id":"v","number":1,"share":2.5,"title":"t","image":null}"#)
            var changed = 0
            #expect(try queue.add(twin, &changed, db))
            #expect(throws: DatabaseError.self) { try queue.flush(&changed, db) }
            try db.execute(sql: "DROP INDEX one")
            #expect(try queue.add(twin, &changed, db))
            try queue.flush(&changed, db)
            #expect(try rows(db) == ["u|1|2.5|'t'|NULL|text", "v|1|2.5|'t'|NULL|text"])
        }
    }
}

/// In what order references are looked at.
@Suite("Ways of a batch", .timeLimit(.minutes(10)))
struct BatchWayTests {
    private typealias Line = LineServer

    /// - Returns: how many batches had references looked at at their end.
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

    private static let recipe = Line.row("RecipeV1", 1, "r1", #""title":"Soup""#)
    private static let step = Line.row("StepV1", 2, "s1", #""recipeID":"r1""#)

    @Test("rows whose parents come first are written without a look at their end, which compiles all statements anew")
    func inOrder() async throws {
        #expect(try await run([Self.recipe, Self.step], expecting: ["r1", "s1"]) == 0)
    }

    @Test("a child before its parent is written in a second try, and one without it is parked in a third")
    func together() async throws {
        #expect(try await run([Self.step, Self.recipe], expecting: ["r1", "s1"]) == 1)
        #expect(try await run([Self.step], expecting: [], parked: 1) == 1)
    }
}

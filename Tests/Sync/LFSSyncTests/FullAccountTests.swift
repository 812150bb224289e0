import Foundation
import GRDB
import LFSWire
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("Full accounts", .timeLimit(.minutes(10)))
struct FullAccountTests {
    private static let recipes = "SELECT id, title FROM recipe ORDER BY id"

    /// Returns the ids of the recipes that the server has.
    private func server(_ sync: TestSync) async throws -> String? {
        try await sync.serverDatabase.read {
            try $0.firstText("SELECT group_concat(id) FROM (SELECT id FROM recipe ORDER BY id)", arguments: [])
        }
    }

    private func run(
        rows: Int64, _ body: (TestSync, _ one: TestSync.Device, _ two: TestSync.Device) async throws -> Void
    ) async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            #expect(try await sync.service.setLimit(.rows, to: rows, account: "ann"))
            try await body(sync, one, two)
        }
    }

    private func add(_ count: Int, to device: TestSync.Device) async throws {
        for number in 1...count {
            try await device.execute("INSERT INTO recipe (id, title) VALUES ('r\(number)', 'Soup \(number)')")
        }
    }

    @Test("A row above the limit waits on the device, which reports the limit and its value")
    func waits() async throws {
        try await run(rows: 2) { sync, one, two in
            try await add(3, to: one)
            let report = try await one.sync()
            #expect(report.sent == 2 && report.pending == 1 && report.rejected == 0 && report.lacking == [])
            #expect(report.exceeded.map(\.limit) == [.rows] && report.exceeded.map(\.value) == [2])
            #expect(report.exceeded.first?.errorDescription?.contains("2 rows") == true)
            let problems = try await one.database.read { try SyncProblem.fetch($0) }
            #expect(problems.map(\.kind) == [.waiting] && problems.map(\.id) == ["r3"])
            #expect(problems.first?.reason.contains("2 rows") == true)
            #expect(try await one.rows(Self.recipes).count == 3)
            #expect(try await server(sync) == "r1,r2")
            // Nothing changes without room, and other devices receive what the server has.
            let second = try await one.sync()
            #expect(second.sent == 0 && second.pending == 1)
            try await two.sync()
            #expect(try await two.rows(Self.recipes) == ["r1|Soup 1", "r2|Soup 2"])
        }
    }

    @Test("Waiting rows are sent with their later edits and children when the limit grows")
    func grows() async throws {
        try await run(rows: 2) { sync, one, two in
            try await add(40, to: one)
            #expect(try await one.sync().pending == 38)
            try await one.execute("UPDATE recipe SET title = 'Broth' WHERE id = 'r40'")
            try await one.execute("INSERT INTO step (id, recipeID, text) VALUES ('s1', 'r40', 'Stir')")
            #expect(try await one.sync().pending == 39)
            #expect(try await sync.service.setLimit(.rows, to: nil, account: "ann"))
            let report = try await one.sync()
            #expect(report.pending == 0 && report.exceeded == [] && report.rejected == 0)
            try await two.sync()
            #expect(try await two.rows(Self.recipes) == one.rows(Self.recipes))
            #expect(
                try await two.rows("SELECT text, title FROM step JOIN recipe ON recipeID = recipe.id") == ["Stir|Broth"]
            )
        }
    }

    @Test("A deletion on the same device makes room within one synchronization")
    func deletion() async throws {
        try await run(rows: 2) { sync, one, two in
            try await add(3, to: one)
            #expect(try await one.sync().pending == 1)
            try await one.execute("DELETE FROM recipe WHERE id = 'r1'")
            let report = try await one.sync()
            #expect(report.pending == 0 && report.exceeded == [])
            #expect(try await server(sync) == "r2,r3")
        }
    }

    @Test("A deletion on another device makes room at the next synchronization")
    func otherDeletion() async throws {
        try await run(rows: 2) { sync, one, two in
            try await add(3, to: one)
            try await one.sync()
            try await two.sync()
            try await two.execute("DELETE FROM recipe WHERE id = 'r1'")
            try await two.sync()
            #expect(try await one.sync().pending == 0)
            #expect(try await server(sync) == "r2,r3")
        }
    }

    @Test("A waiting row that is deleted is never sent")
    func deletedHere() async throws {
        try await run(rows: 2) { sync, one, two in
            try await add(3, to: one)
            try await one.sync()
            try await one.execute("DELETE FROM recipe WHERE id = 'r3'")
            let report = try await one.sync()
            #expect(report.pending == 0 && report.exceeded == [] && report.rejected == 0)
            #expect(try await server(sync) == "r1,r2")
        }
    }

    @Test("An edit above the limit of bytes waits, and the deletion of its row is sent")
    func edit() async throws {
        try await run(rows: 10) { sync, one, two in
            try await add(1, to: one)
            try await one.sync()
            #expect(try await sync.service.setLimit(.rowBytes, to: 30, account: "ann"))
            try await one.execute("UPDATE recipe SET title = 'A title with more than thirty bytes' WHERE id = 'r1'")
            let report = try await one.sync()
            #expect(report.pending == 1 && report.exceeded.map(\.limit) == [.rowBytes])
            #expect(try await one.rows(Self.recipes) == ["r1|A title with more than thirty bytes"])
            try await one.execute("DELETE FROM recipe WHERE id = 'r1'")
            #expect(try await one.sync().pending == 0)
            #expect(try await server(sync) == nil)
        }
    }

    @Test("A limit of an unknown name and a damaged reason are still reported as waiting")
    func unknown() async throws {
        try await run(rows: 1) { sync, one, two in
            try await add(2, to: one)
            try await one.sync()
            try await one.execute("UPDATE lfs_sync_outbox SET waits = 'quota:planets:x:y' WHERE waits IS NOT NULL")
            let report = try #require(try await one.database.read { try SyncReport.fetch($0) })
            #expect(report.exceeded.map(\.limit) == [.other("planets")] && report.exceeded.map(\.value) == [0])
            #expect(try await one.sync().pending == 1)
        }
    }
}

import GRDB
import LFSDatabase
import TestSupport
import Testing

@testable import LFSSync

@Suite("Verification against the server", .timeLimit(.minutes(10)))
struct VerifyTests {
    /// Makes a change that the outbox does not record, as in a manually repaired database.
    private func execute(_ sql: String, on device: TestSync.Device) async throws {
        try await device.database.write { db in try StateTable.applying(db) { try db.execute(sql: sql) } }
    }

    private static let rows = """
        INSERT INTO recipe (id, title) VALUES ('r1', 'Soup'), ('r2', 'Stew'), ('r3', 'Pie');
        INSERT INTO step (id, recipeID) VALUES ('s1', 'r1')
        """

    @Test("Verification finds no difference for refused and parked rows")
    func same() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.execute(Self.rows)
            // The server accepts the row, and the other device's CHECK refuses it.
            try await one.database.write { try $0.execute(sql: "PRAGMA ignore_check_constraints = ON") }
            try await one.execute("INSERT INTO recipe (id, title, servings) VALUES ('r4', 'Feast', 5000)")
            // No server accepts this id.
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r|5', 'Odd')")
            let here = try await one.client.verify()
            #expect(here.compared == 3 && here.differences == [])
            #expect(here.problems.map(\.kind) == [.refused] && here.problems.map(\.id) == ["r|5"])
            try await two.sync()
            #expect(try await two.rows("SELECT key FROM lfs_sync_parked") == ["r4"])
            let there = try await two.client.verify()
            #expect(there.compared == 3 && there.differences == [])
            #expect(there.problems.map(\.kind) == [.parked] && there.problems.map(\.id) == ["r4"])
        }
    }

    @Test("A reset replaces changed rows, restores lost ones and deletes additional ones")
    func reset() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.execute(Self.rows)
            for device in [one, two] { try await device.sync() }
            try await execute("UPDATE recipe SET title = 'Damaged' WHERE id = 'r1'", on: two)
            try await execute("DELETE FROM recipe WHERE id = 'r2'", on: two)
            try await execute("INSERT INTO recipe (id, title) VALUES ('r9', 'Ghost')", on: two)
            // This change was made by the app, so it is sent.
            try await two.execute("UPDATE recipe SET title = 'Tart' WHERE id = 'r3'")
            let report = try await two.client.reset()
            #expect(report.sent == 1 && report.received > 0 && report.pending == 0, "\(report)")
            #expect(try await two.rows("SELECT title FROM recipe ORDER BY id") == ["Soup", "Stew", "Tart"])
            #expect(try await two.rows("SELECT id FROM step") == ["s1"])
            try await one.sync()
            #expect(try await one.rows("SELECT title FROM recipe ORDER BY id") == ["Soup", "Stew", "Tart"])
            #expect(try await two.sync() == SyncReport())
        }
    }

    @Test("Verification restores lost rows and deletes rows that the server does not have")
    func differences() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.execute(Self.rows)
            for device in [one, two] { try await device.sync() }
            try await execute("DELETE FROM recipe WHERE id = 'r1'", on: two)
            try await execute("INSERT INTO recipe (id, title) VALUES ('r9', 'Ghost')", on: two)
            #expect(try await two.sync() == SyncReport())
            let found = try await two.client.verify()
            #expect(found.compared == 3)
            // The counts are equal, but the rows differ.
            #expect(
                found.differences.map { "\($0.type) \($0.here) \($0.there) \($0.isMended)" }
                    == ["RecipeV1 3 3 true", "StepV1 0 1 true"])
            #expect(try await two.rows("SELECT id FROM recipe ORDER BY id") == ["r1", "r2", "r3"])
            #expect(try await two.rows("SELECT id FROM step") == ["s1"])
            #expect(try await two.client.verify().differences == [])
            #expect(try await one.sync() == SyncReport())
        }
    }
}

import GRDB
import LFSSystem
import Synchronization
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("Every local change is sent, however it was made", .timeLimit(.minutes(10)))
struct CaptureTests {
    private static let recipes = "SELECT id, title, servings FROM recipe ORDER BY id"

    private func run(_ body: (TestSync, TestSync.Device, TestSync.Device) async throws -> Void) async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.execute(
                "INSERT INTO recipe (id, title, servings) VALUES ('r1', 'Soup', 4), ('r2', 'Stew', 2)")
            try await one.sync()
            try await two.sync()
            try await body(sync, one, two)
        }
    }

    @Test("a row that gets another id goes elsewhere, and comes under the new one", arguments: ["", ", title = 'Pie'"])
    func newKey(change: String) async throws {
        try await run { _, one, two in
            try await one.execute("UPDATE recipe SET id = 'r9'\(change) WHERE id = 'r1'")
            try await one.sync()
            try await two.sync()
            let title = change.isEmpty ? "Soup" : "Pie"
            for device in [one, two] {
                #expect(try await device.rows(Self.recipes) == ["r2|Stew|2", "r9|\(title)|4"])
                #expect(try await device.sync() == SyncReport())
            }
        }
    }

    @Test("a row that was replaced and then deleted goes elsewhere as well")
    func replaced() async throws {
        try await run { _, one, two in
            try await one.execute(
                "INSERT OR REPLACE INTO recipe (id, title) VALUES ('r1', 'New'); DELETE FROM recipe WHERE id = 'r1'")
            try await one.sync()
            try await two.sync()
            for device in [one, two] { #expect(try await device.rows(Self.recipes) == ["r2|Stew|2"]) }
        }
    }

    @Test("an upsert sends the columns that it changes, and none that another device has changed meanwhile")
    func upsert() async throws {
        try await run { _, one, two in
            try await two.execute("UPDATE recipe SET servings = 6 WHERE id = 'r1'")
            try await two.sync()
            try await one.execute(
                """
                INSERT INTO recipe (id, title) VALUES ('r1', 'Broth') ON CONFLICT (id) DO UPDATE SET title = 'Broth';
                INSERT INTO recipe (id, title) VALUES ('r2', 'x') ON CONFLICT (id) DO NOTHING
                """)
            #expect(try await one.sync().sent == 1)
            try await two.sync()
            for device in [one, two] {
                #expect(try await device.rows(Self.recipes) == ["r1|Broth|6", "r2|Stew|2"])
                #expect(try await device.sync() == SyncReport())
            }
        }
    }

    @Test(
        "a row with an id that no server takes is refused here, and stops no other",
        arguments: ["'my recipe'", "'a|b'", "'ä'", "''", "x'ff00'", "x'6162'", "CAST(x'610062' AS TEXT)"])
    func oddKey(key: String) async throws {
        try await run { sync, one, two in
            try await one.execute(
                """
                INSERT INTO recipe (id, title) VALUES (\(key), 'Odd');
                INSERT INTO recipe (id, title) VALUES ('r3', 'x')
                """
            )
            try await one.sync()
            #expect(try await one.rows("SELECT code FROM lfs_sync_rejection") == ["invalidKey"])
            let problems = try await one.database.read { db in try SyncProblem.fetch(db) }
            #expect(problems.map(\.kind) == [.refused])
            try await one.execute("UPDATE recipe SET title = 'Odder' WHERE title = 'Odd'")
            try await one.sync()
            try await two.sync()
            #expect(try await two.rows("SELECT id FROM recipe ORDER BY id") == ["r1", "r2", "r3"])
            // Nor is it swept, whatever became of the note.
            try await one.execute("DELETE FROM lfs_sync_rejection")
            try await sync.execute("UPDATE sync_session SET resetReason = 'operator'")
            try await one.sync()
            #expect(try await one.rows("SELECT count(*) FROM recipe") == ["4"])
        }
    }

    @Test(
        "a text that would be cut off on its way is refused here, and stays whole",
        arguments: ["x'610062'", "x'61ff62'", "x'00'"])
    func cutText(bytes: String) async throws {
        try await run { _, one, two in
            try await one.execute(
                """
                UPDATE recipe SET title = CAST(\(bytes) AS TEXT) WHERE id = 'r1';
                INSERT INTO recipe (id, title) VALUES ('r3', CAST(\(bytes) AS TEXT)), ('r4', '')
                """)
            try await one.sync()
            try await two.sync()
            let kept = "SELECT id FROM recipe WHERE CAST(title AS BLOB) = \(bytes) ORDER BY id"
            #expect(try await one.rows(kept) == ["r1", "r3"])
            #expect(try await one.rows("SELECT code FROM lfs_sync_rejection") == ["invalidText", "invalidText"])
            #expect(try await two.rows(Self.recipes) == ["r1|Soup|4", "r2|Stew|2", "r4||NULL"])
        }
    }

    @Test("a row that is too large by several changes is refused, and no device is stuck with it")
    func tooLarge() async throws {
        try await run { _, one, two in
            try await one.execute("INSERT INTO step (id, recipeID) VALUES ('s1', 'r1')")
            try await one.sync()
            // In a request a byte, in a stream six.
            try await one.execute("UPDATE step SET text = printf('%.*c', 900000, 'x')")
            try await one.sync()
            try await one.execute("UPDATE recipe SET title = printf('%.*c', 1048300, 'x') WHERE id = 'r1'")
            try await one.sync()
            #expect(try await one.rows("SELECT code FROM lfs_sync_rejection").count == 1)
            try await two.execute("INSERT INTO recipe (id, title) VALUES ('r3', 'Pie')")
            for device in [two, one] { try await device.sync() }
            #expect(try await one.rows("SELECT title FROM recipe WHERE id = 'r3'") == ["Pie"])
            #expect(try await two.rows("SELECT length(text) FROM step") == ["900000"])
        }
    }

    @Test("a change whose row is deleted elsewhere before it was sent is kept as a refused one, also of a child")
    func lost() async throws {
        try await run { _, one, two in
            try await one.execute("DELETE FROM recipe WHERE id = 'r1'")
            try await one.sync()
            let (isThere, goOn) = (Latch(), Latch())
            two.transport.faults.withLock { $0.holdsStream = (isThere, goOn) }
            let taking = Task { try await two.sync() }
            await isThere.wait()
            try await two.execute(
                """
                INSERT INTO step (id, recipeID, text) VALUES ('s1', 'r1', 'Say "Hi"');
                UPDATE recipe SET title = 'Mine' WHERE id = 'r1';
                UPDATE recipe SET servings = 9 WHERE id = 'r2'; UPDATE recipe SET servings = 2 WHERE id = 'r2'
                """)
            goOn.open()
            #expect(try await taking.value.received == 1)
            #expect(try await two.rows(Self.recipes) == ["r2|Stew|2"])
            let refused = "SELECT tableName, key, code, mutation FROM lfs_sync_rejection ORDER BY tableName"
            let title =
                #"{"type":"RecipeV1","op":"patch","key":"r1","data":{"title":"Mine","servings":4,"photoID":null}}"#
            let step = #"{"type":"StepV1","op":"put","key":"s1","data":{"recipeID":"r1","text":"Say \"Hi\""}}"#
            #expect(try await two.rows(refused) == ["recipe|r1|missing|\(title)", "step|s1|missing|\(step)"])
            let report = try await two.sync()
            #expect((report.sent, report.pending, report.rejected) == (1, 0, 2))
            for device in [one, two] { try await device.sync() }
            #expect(try await one.rows(Self.recipes) == ["r2|Stew|2"])
        }
    }
}

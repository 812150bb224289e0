import GRDB
import LFSSystem
import Synchronization
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("Capture of local changes", .timeLimit(.minutes(10)))
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

    @Test("A row with a changed id is deleted and arrives under the new id", arguments: ["", ", title = 'Pie'"])
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

    @Test("A row that was replaced and then deleted is deleted elsewhere too")
    func replaced() async throws {
        try await run { _, one, two in
            try await one.execute(
                "INSERT OR REPLACE INTO recipe (id, title) VALUES ('r1', 'New'); DELETE FROM recipe WHERE id = 'r1'")
            try await one.sync()
            try await two.sync()
            for device in [one, two] { #expect(try await device.rows(Self.recipes) == ["r2|Stew|2"]) }
        }
    }

    @Test("An upsert sends only the columns that it changes")
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
        "A row with an invalid id is refused on the device and does not block others",
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
            // A resync does not delete the row either, even without the rejection.
            try await one.execute("DELETE FROM lfs_sync_rejection")
            try await sync.execute("UPDATE sync_session SET resetReason = 'operator'")
            try await one.sync()
            #expect(try await one.rows("SELECT count(*) FROM recipe") == ["4"])
        }
    }

    @Test(
        "A text with a null byte or invalid UTF-8 is refused on the device and kept",
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

    @Test("A row that several changes make too large is refused and blocks no device")
    func tooLarge() async throws {
        try await run { _, one, two in
            try await one.execute("INSERT INTO step (id, recipeID) VALUES ('s1', 'r1')")
            try await one.sync()
            // The character takes one byte in a request and six in a stream.
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

    @Test("An unsent change of a row that was deleted elsewhere is kept as a rejection")
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

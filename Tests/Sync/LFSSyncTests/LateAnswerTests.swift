import Synchronization
import Testing

@testable import LFSSync

@Suite("Late replies after changes of other devices", .timeLimit(.minutes(10)))
struct LateAnswerTests {
    private static let recipes = "SELECT id, title FROM recipe ORDER BY id"

    /// Sends a change whose reply is lost. Then the device receives a change of another device and cannot push.
    private func unanswered(
        _ one: TestSync.Device, two: TestSync.Device, change: String, others: String
    ) async throws {
        try await one.execute(change)
        one.transport.faults.withLock { $0.losesReplyOf = "/v1/sync/push" }
        await #expect(throws: SyncError.self) { () async throws in _ = try await one.sync() }
        try await two.sync()
        try await two.execute(others)
        try await two.sync()
        one.transport.faults.withLock { $0.refusesPushes = true }
        await #expect(throws: SyncError.self) { () async throws in _ = try await one.sync() }
        one.transport.faults.withLock { $0.refusesPushes = false }
    }

    @Test("A late reply does not restore a column that another device has changed since")
    func edited() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup')")
            try await one.sync()
            try await unanswered(
                one, two: two, change: "UPDATE recipe SET title = 'Mine'", others: "UPDATE recipe SET title = 'Theirs'")
            #expect(try await one.sync().pending == 0)
            for device in [one, two] {
                let rows = try await device.rows(Self.recipes)
                #expect(rows == ["r1|Theirs"])
            }
        }
    }

    @Test("A late reply does not restore a row that another device has deleted")
    func deleted() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.sync()
            try await unanswered(
                one, two: two, change: "INSERT INTO recipe (id, title) VALUES ('r1', 'Soup')",
                others: "DELETE FROM recipe")
            #expect(try await one.sync().pending == 0)
            for device in [one, two] {
                let rows = try await device.rows(Self.recipes)
                #expect(rows == [])
            }
        }
    }

    @Test("An edit made after an unanswered change is kept and sent")
    func editedAgain() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup')")
            try await one.sync()
            try await unanswered(
                one, two: two, change: "UPDATE recipe SET title = 'Mine'",
                others: "UPDATE recipe SET title = 'Theirs', servings = 4")
            try await one.execute("UPDATE recipe SET title = 'Mine again'")
            try await one.sync()
            try await two.sync()
            for device in [one, two] {
                #expect(try await device.rows("SELECT title, servings FROM recipe") == ["Mine again|4"])
            }
        }
    }
}

import LFSSyncServer
import Testing

@Suite("Deletions on SQLite", .timeLimit(.minutes(10)))
struct ReplaceTests {
    @Test("INSERT OR REPLACE counts as a change and cannot move a row to another scope")
    func replace() async throws {
        try await DeletionTests.run { server, device in
            try await server.execute(
                "INSERT OR REPLACE INTO comment (id, text, scopeID) SELECT 'c1', 'new', scopeID FROM comment LIMIT 1")
            #expect(try await device.sync() == ["Comment c1"])
            await #expect(throws: SQLFailure.self) {
                try await server.execute(
                    "INSERT OR REPLACE INTO comment (id, scopeID) VALUES ('c1', 'account/other')")
            }
        }
    }
}

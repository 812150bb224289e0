import LFSSyncServer
import Testing

@Suite("B: deletions, on SQLite alone", .timeLimit(.minutes(10)))
struct ReplaceTests {
    @Test("14 INSERT OR REPLACE is a change of the row, and cannot take it from its scope")
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

import Foundation
import JournalStorage
import Testing

@Suite("Removal of a served journal", .timeLimit(.minutes(10)))
struct ServeRemovalTests {
    @Test("A full reset on the page empties the journal, and the server continues")
    func reset() async throws {
        try await withFolder { folder in
            let database = ["--database", "journal.sqlite", "--storage", "dir:a"]
            let demo = ["demo", "--records", "3", "--pictures", "0"] + database
            let made = try await ChildProcess.run("journal", arguments: demo, in: folder)
            #expect(made.status == 0, "\(made)")
            let serve = ["serve", "--secrets", "state", "--listen", "127.0.0.1:0"] + database
            let child = try ChildProcess("journal", arguments: serve, in: folder)
            defer { if child.process.isRunning { child.process.terminate() } }
            let session = try await BrowserSession(with: try await child.address())
            let removed = try await session.post("/settings/remove", form: "what=everything&lost=0&sure=yes")
            #expect(removed.status == 200 && removed.text.contains("stay there"), "\(removed)")
            // The server listens on another free port after the removal.
            let second = try await child.address()
            #expect(second.hasPrefix("http://127.0.0.1:"))
            #expect(try await BrowserSession(with: second).get("/").status == 200)
            child.process.terminate()
            #expect(try child.wait().status == 0)
            let ended = try await ChildProcess.run(
                "journal", arguments: ["export", "copy"] + database, in: folder)
            #expect(ended.status == 0 && ended.output == "0 records, 0 pictures, 0 tags.\n", "\(ended)")
        }
    }
}

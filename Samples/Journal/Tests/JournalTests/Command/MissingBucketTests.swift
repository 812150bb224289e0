import Foundation
import Testing

@Suite("A missing bucket of a journal", .timeLimit(.minutes(10)))
struct MissingBucketTests {
    /// Serves a journal on a server without the bucket, and returns the number of creations after the start.
    private func creations(
        _ options: [String], _ check: (AnsweringServer, _ folder: URL) async throws -> Void = { _, _ in }
    ) async throws -> Int {
        let creations = AnsweringServer.Counter()
        let server = try AnsweringServer.withoutBucket(creations)
        defer { server.close() }
        try await withFolder { folder in
            let serve = [
                "serve", "--database", "journal.sqlite", "--storage", server.storage, "--secrets", "state", "--listen",
                "127.0.0.1:0",
            ]
            let child = try ChildProcess(
                "journal", arguments: serve + options, in: folder, environment: server.environment)
            defer { if child.process.isRunning { child.process.terminate() } }
            #expect(try await child.address().hasPrefix("http://127.0.0.1:"))
            if child.process.isRunning { child.process.terminate() }
            let ended = try child.wait()
            #expect(ended.status == 0, "\(ended)")
            try await check(server, folder)
        }
        return creations.value
    }

    @Test("A missing bucket is created with --create-bucket, and takes pictures")
    func created() async throws {
        let count = try await creations(["--create-bucket"]) { server, folder in
            let demo = [
                "demo", "--records", "1", "--pictures", "1", "--wait", "--database", "journal.sqlite", "--storage",
                server.storage, "--secrets", "state",
            ]
            let filled = try await ChildProcess.run(
                "journal", arguments: demo, in: folder, environment: server.environment)
            #expect(filled.status == 0, "\(filled)")
        }
        #expect(count == 1)
    }

    @Test("A missing bucket is not created without --create-bucket")
    func notCreated() async throws {
        #expect(try await creations([]) == 0)
    }
}

import Foundation
import Testing

@Suite("Refusals by the storage", .timeLimit(.minutes(10)))
struct RefusalTests {
    private static func push(_ server: AnsweringServer, in folder: URL) throws -> UploaderProcess {
        try UploaderProcess(
            ["push", "--database", "a.sqlite", "--to", server.storage, "--json", "--give-up-after", "20s", "files"],
            in: folder, environment: server.environment)
    }

    @Test(
        "A push to a storage that refuses everything gives up with advice",
        arguments: [
            (404, "NoSuchBucket", "Create the bucket, or check its name"),
            (403, "SignatureDoesNotMatch", "Check the secret access key"),
            (403, "InvalidAccessKeyId", "Check the access key"),
            (403, "AccessDenied", "Allow these credentials"),
        ])
    func fromTheStart(status: Int, code: String, advice: String) throws {
        try withFolder(files: 3) { folder in
            let server = try AnsweringServer { _, _ in .failure(status, code: code) }
            defer { server.close() }
            let push = try Self.push(server, in: folder).wait()
            #expect(push.status == 3, "\(push.messages)")
            #expect(push.messages.contains("gave up: the storage refuses everything"), "\(push.messages)")
            #expect(push.messages.contains(advice), "\(push.messages)")
            #expect(push.messages.contains("3 files not uploaded; 'resume' continues"), "\(push.messages)")
            let gaveUp = try #require(push.events.first { $0["event"] as? String == "gaveUp" })
            #expect((gaveUp["reason"] as? String)?.contains(code) == true, "\(gaveUp)")
            #expect(server.count > 2)
            let resume = try UploaderProcess(
                ["resume", "--database", "a.sqlite", "--give-up-after", "20s"], in: folder,
                environment: server.environment
            ).wait()
            #expect(resume.status == 3, "\(resume.messages)")
            #expect(resume.messages.contains("gave up: the storage refuses everything"), "\(resume.messages)")
        }
    }

    @Test("A run waits for a refusing storage with --watch, never, or after an upload")
    func waitedFor() throws {
        try withFolder(files: 12) { folder in
            let refusing = try AnsweringServer { _, _ in .failure(403, code: "ExpiredToken") }
            let accepted = 3
            let expiring = try AnsweringServer { request, number in
                number < accepted ? .uploaded(request) : .failure(403, code: "ExpiredToken")
            }
            defer { for server in [refusing, expiring] { server.close() } }
            let runs = try [
                (refusing, ["--watch"]), (refusing, ["--give-up-after", "never"]),
                (expiring, ["--max-executors", "1"]),
            ].enumerated().map { index, run in
                try UploaderProcess(
                    ["push", "--database", "\(index).sqlite", "--to", run.0.storage, "--json"] + run.1 + ["files"],
                    in: folder, environment: run.0.environment)
            }
            defer { for run in runs where run.process.isRunning { run.process.terminate() } }
            // This is longer than a run without waiting takes.
            let limit = Duration.seconds(8)
            while runs.allSatisfy(\.process.isRunning), [refusing, expiring].contains(where: { $0.refused < limit }) {
                usleep(20_000)
            }
            for (index, run) in runs.enumerated() {
                Foundation.kill(run.process.processIdentifier, SIGINT)
                let result = try run.wait()
                #expect(result.status == 130, "\(index): \(result.messages)")
                #expect(!result.messages.contains("gave up"), "\(index): \(result.messages)")
                let uploaded = result.events.filter { $0["event"] as? String == "uploaded" }.count
                #expect(uploaded == (index == 2 ? accepted : 0), "\(index): \(result.messages)")
            }
        }
    }
}

import Foundation
import Synchronization
import Testing

@Suite("Pulls of archived objects", .timeLimit(.minutes(10)))
struct PullArchiveTests {
    @Test("A pull requests the restore of archived files with --restore-archived")
    func archived() throws {
        try withFolder(files: 1) { folder in
            let requests = Mutex<[String]>([])
            let server = try AnsweringServer { request, _ in
                if request.method == "PUT" { return .uploaded(request) }
                if request.method == "POST", request.path.contains("?restore") {
                    requests.withLock { $0.append(String(decoding: request.body, as: UTF8.self)) }
                    return .init(status: 202, headers: ["x-amz-request-id": "1"])
                }
                let isObject = ["GET", "HEAD"].contains(request.method) && !request.path.contains("?")
                return .failure(403, code: isObject ? "InvalidObjectState" : "AccessDenied")
            }
            defer { server.close() }
            let storage = ["--database", "a.sqlite", "--to", server.storage]
            func run(_ command: String, words: [String]) throws -> UploaderProcess.Result {
                try UploaderProcess([command] + storage + words, in: folder, environment: server.environment).wait()
            }
            let pushed = try run("push", words: ["--copy", "files"])
            try #require(pushed.status == 0, "\(pushed)")
            let entry = try #require(try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite")).first)
            try FileManager.default.removeItem(at: folder.appendingPathComponent("a.sqlite.lfs/\(entry.id)"))

            let pull = ["--all", "--output", "out"]
            let plain = try run("pull", words: pull)
            #expect(plain.status == 3 && plain.messages.contains("'pull --restore-archived' requests that"), "\(plain)")
            #expect(requests.withLock { $0.isEmpty })
            let archive = ["--restore-archived", "--restore-days", "3", "--restore-speed", "bulk"]
            let requested = try run("pull", words: pull + archive)
            #expect(requested.status == 3, "\(requested)")
            #expect(requested.messages.contains("it is archived, and its restore was requested"), "\(requested)")
            #expect(requested.messages.contains("1 file will be restored from the archive"), "\(requested)")
            let bodies = requests.withLock { $0 }
            #expect(bodies.count == 1)
            #expect(bodies.first?.contains("<Days>3</Days>") == true)
            #expect(bodies.first?.contains("<Tier>Bulk</Tier>") == true)
        }
    }

    @Test("--restore-archived is refused for a storage without archives")
    func otherStorage() throws {
        try withFolder(files: 1) { folder in
            let storage = ["--database", "a.sqlite", "--to", "dir:remote"]
            try #require(try UploaderProcess(["push"] + storage + ["files"], in: folder).wait().status == 0)
            let pull = ["pull"] + storage + ["--all", "--output", "out", "--restore-archived"]
            let refused = try UploaderProcess(pull, in: folder).wait()
            #expect(refused.status == 1 && refused.messages.contains("needs a storage on S3"), "\(refused)")
            let days = try UploaderProcess(pull + ["--restore-days", "0"], in: folder).wait()
            #expect(days.status == 64, "\(days)")
        }
    }
}

import Foundation
import LFS
import Synchronization
import Testing
import UploaderKit

@Suite("Pulls during an outage", .timeLimit(.minutes(10)))
struct PullOutageTests {
    private static let pull = ["pull", "--database", "a.sqlite", "--all", "--output", "out"]

    private static func names(_ folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent("out/files").path).sorted()
    }

    /// An object store that can be made unavailable. The mutex owns the state.
    private final class Bucket: Sendable {
        private let state = Mutex((objects: [String: AnsweringServer.Answer](), isAway: false))

        func goAway(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }

        func answer(_ request: AnsweringServer.Request) -> AnsweringServer.Answer {
            state.withLock { state in
                if state.isAway { return .signIn }
                guard request.method == "PUT" else {
                    return state.objects[request.path] ?? .failure(404, code: "NoSuchKey")
                }
                var object = AnsweringServer.Answer.uploaded(request)
                object.body = request.body
                state.objects[request.path] = object
                return .uploaded(request)
            }
        }
    }

    /// Pushes files, frees the local copies of all but four of them, and makes the storage unavailable.
    ///
    /// - Parameter frees: false to keep all local copies.
    private static func withStorageAway(
        files: Int = 12, frees: Bool = true,
        _ body: (URL, _ start: ([String]) throws -> UploaderProcess, _ bringBack: () -> Void) throws -> Void
    ) throws {
        try withFolder(files: files) { folder in
            let bucket = Bucket()
            let server = try AnsweringServer { request, _ in bucket.answer(request) }
            defer { server.close() }
            let start = { try UploaderProcess($0, in: folder, environment: server.environment) }
            let push = try start(["push", "--copy", "--database", "a.sqlite", "--to", server.storage, "files"]).wait()
            try #require(push.status == 0, "\(push.messages)")
            if frees {
                let names = (4..<files).map { "files/\($0).bin" }
                try #require(try start(["free", "--database", "a.sqlite"] + names).wait().status == 0)
            }
            bucket.goAway(true)
            try body(folder, start) { bucket.goAway(false) }
        }
    }

    @Test("A pull during an outage writes local files and gives up on the others")
    func givesUp() throws {
        try Self.withStorageAway { folder, start, bringBack in
            let pull = try start(Self.pull + ["--give-up-after", "15s", "--progress", "none"]).wait()
            #expect(pull.status == 3, "\(pull.messages)")
            #expect(pull.messages.split(separator: "\n").count == 2, "\(pull.messages)")
            #expect(pull.messages.contains(" Trying again…"), "\(pull.messages)")
            #expect(
                pull.messages.contains("8 files not pulled; the same command continues with the rest"),
                "\(pull.messages)")
            #expect(pull.output.hasPrefix("4 pulled, 0 failed, 8 not pulled, "), "\(pull.output)")
            #expect(try Self.names(folder).count == 4)
            bringBack()
            let again = try start(Self.pull).wait()
            #expect(again.status == 0 && again.output.hasPrefix("8 pulled, 0 failed, 4 unchanged, "), "\(again.output)")
        }
    }

    @Test("A pull waits for an unavailable storage and continues when it is back")
    func waits() throws {
        try Self.withStorageAway { folder, start, bringBack in
            let run = try start(Self.pull)
            defer { if run.process.isRunning { run.process.terminate() } }
            while run.process.isRunning, try !run.resultSoFar().messages.contains("Trying again") { usleep(5_000) }
            bringBack()
            let pull = try run.wait()
            #expect(pull.status == 0, "\(pull.messages)")
            #expect(pull.messages.contains("The storage is back."), "\(pull.messages)")
            #expect(pull.output.hasPrefix("12 pulled, 0 failed, "), "\(pull.output)")
            #expect(try Self.names(folder).count == 12)
        }
    }

    @Test("A file that another pull is writing at the end of an outage is reported")
    func takenAfterOutage() throws {
        try Self.withStorageAway(files: 200, frees: false) { folder, start, bringBack in
            let database = folder.appendingPathComponent("a.sqlite")
            // The pull starts with this file.
            let documents = try TestDatabase.documents(in: database)
            let first = try #require(documents.min { $0.value < $1.value }).key
            let entries = try TestDatabase.entries(in: database)
            let id = try #require(entries.first { $0.path == first }).id
            try #require(try start(["free", "--database", "a.sqlite", first]).wait().status == 0)
            let name = URL(fileURLWithPath: first).lastPathComponent
            let out = folder.appendingPathComponent("out/files")
            try FileManager.default.createDirectory(at: out, withIntermediateDirectories: true)
            let written = out.appendingPathComponent(name)
            try FileManager.default.copyItem(atPath: first, toPath: written.path)
            // Another pull would hold this lock.
            let part = out.appendingPathComponent(PartName.of(Array(name.utf8), id: try #require(FileID(id))))
            try Data().write(to: part)
            let held = try FileHandle(forUpdating: part)
            #expect(flock(held.fileDescriptor, LOCK_EX) == 0)
            let run = try start(Self.pull)
            defer { if run.process.isRunning { run.process.terminate() } }
            // The file is retried after all others. Only then does the pull need the storage.
            while run.process.isRunning, try FileManager.default.contentsOfDirectory(atPath: out.path).count < 60 {
                usleep(1_000)
            }
            try FileManager.default.removeItem(at: written)
            while run.process.isRunning, try !run.resultSoFar().messages.contains("Trying again") { usleep(5_000) }
            bringBack()
            let pull = try run.wait()
            try held.close()
            #expect(pull.status == 3 && pull.output.hasPrefix("199 pulled, 1 failed, "), "\(pull.output)")
            #expect(pull.messages.contains("\(name) is being written by another pull"), "\(pull.messages)")
        }
    }

    @Test("A pull with a rejected key stops at once with one message for all files")
    func wrongKey() throws {
        try withFolder(files: 12) { folder in
            let isRefused = Atomic(false)
            let server = try AnsweringServer { request, _ in
                if isRefused.load(ordering: .relaxed) { return .failure(403, code: "SignatureDoesNotMatch") }
                return .uploaded(request)
            }
            defer { server.close() }
            let push = ["push", "--copy", "--database", "a.sqlite", "--to", server.storage, "--free-uploaded", "files"]
            let pushed = try UploaderProcess(push, in: folder, environment: server.environment).wait()
            try #require(pushed.status == 0, "\(pushed.messages)")
            isRefused.store(true, ordering: .relaxed)
            for words in [[], ["--json"]] {
                let pull = try UploaderProcess(
                    Self.pull + ["--progress", "none"] + words, in: folder, environment: server.environment
                ).wait()
                #expect(pull.status == 3, "\(pull.messages)")
                let lines = pull.messages.split(separator: "\n")
                #expect(lines.count == 1, "\(pull.messages)")
                #expect(lines.first?.hasPrefix("uploader: 12 files not pulled: ") == true, "\(pull.messages)")
                #expect(pull.messages.contains("Check the secret access key"), "\(pull.messages)")
                guard words.isEmpty else {
                    #expect(pull.events.filter { $0["event"] as? String == "failed" }.count == 12)
                    #expect(pull.summary?["failed"] as? Int == 12)
                    continue
                }
                #expect(pull.output.hasPrefix("0 pulled, 0 failed, 12 not pulled, "), "\(pull.output)")
            }
        }
    }
}

import Dispatch
import Foundation
import GRDB
import Testing

@Suite("Process environment", .timeLimit(.minutes(10)))
struct SurroundingsTests {
    private static let push = ["push", "--database", "a.sqlite", "--to", "dir:remote"]

    private func shell(_ script: String) -> [String] { ["/bin/sh", "-c", script + "; exec \"$@\"", "sh"] }

    @Test("A closed standard output is no failure", arguments: ["-v", "--json", "--quiet"])
    func closedOutput(option: String) throws {
        try withFolder(files: 2) { folder in
            let run = try UploaderProcess(
                Self.push + [option, "files"], in: folder, through: ["/bin/sh", "-c", "exec \"$@\" <&- >&- 2>&-", "sh"]
            ).wait()
            #expect(run.status == 0)
            let database = folder.appendingPathComponent("a.sqlite")
            #expect(try TestDatabase.count("lfs_file WHERE status = 'remote'", in: database) == 2)
        }
    }

    @Test("A signal that is ignored from the start does not end a run", arguments: [SIGINT, SIGTERM])
    func ignoredSignal(_ number: Int32) throws {
        try withFolder(files: 1) { folder in
            let run = try UploaderProcess(
                Self.push + ["--watch", "--settle", "0.2s", "files"], in: folder,
                through: shell("trap '' \(number == SIGINT ? "INT" : "TERM")"))
            while run.process.isRunning, try !run.outputSoFar().contains("watching") { sched_yield() }
            kill(run.process.processIdentifier, number)
            try randomData(10).write(to: folder.appendingPathComponent("files/later"))
            while run.process.isRunning, try !run.outputSoFar().contains("1 uploaded") { sched_yield() }
            #expect(run.process.isRunning)
            let other = number == SIGINT ? SIGTERM : SIGINT
            kill(run.process.processIdentifier, other)
            #expect(try run.wait().status == 128 + other)
        }
    }

    @Test("SIGHUP without a terminal reopens the log, and the run continues")
    func logRotation() throws {
        try withFolder(files: 1) { folder in
            let (log, old) = (folder.appendingPathComponent("a.log"), folder.appendingPathComponent("a.log.1"))
            let run = try UploaderProcess(
                Self.push + ["--watch", "--settle", "0.2s", "--log-file", "a.log", "files"], in: folder,
                through: ["/usr/bin/setsid", "--wait"] + shell("echo $$ > pid"))
            while run.process.isRunning, try !run.outputSoFar().contains("watching") { sched_yield() }
            let text = try String(contentsOf: folder.appendingPathComponent("pid"), encoding: .utf8)
            let pid = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
            try FileManager.default.moveItem(at: log, to: old)
            kill(pid, SIGHUP)
            while run.process.isRunning, !FileManager.default.fileExists(atPath: log.path) { sched_yield() }
            try randomData(10).write(to: folder.appendingPathComponent("files/later"))
            while run.process.isRunning, try !String(contentsOf: log, encoding: .utf8).contains("files/later") {
                sched_yield()
            }
            #expect(try !String(contentsOf: old, encoding: .utf8).contains("files/later"))
            kill(pid, SIGTERM)
            #expect(try run.wait().status == 143)
        }
    }

    @Test("A database name that looks like a URI is a file name")
    func nameLikeURI() throws {
        for name in ["file:x.sqlite", "file:y.sqlite?mode=memory", ":memory:"] {
            try withFolder(files: 1) { folder in
                let run = try UploaderProcess.run(
                    "push", "--database", name, "--to", "dir:remote", "files", in: folder)
                #expect(run.status == 0, "\(run)")
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
                    .filter { !["files", "remote"].contains($0) && !$0.hasPrefix(".") }
                #expect(names.sorted() == [name, name + ".lfs"])
                let mode = try FileManager.default.attributesOfItem(atPath: folder.path + "/" + name)[.posixPermissions]
                #expect(mode as? Int == 0o600)
                #expect(try UploaderProcess.run("verify", "--database", name, in: folder).status == 0)
            }
        }
    }

    @Test("A missing temporary folder does not stop a push or a recovery")
    func missingTemporaryFolder() throws {
        try withFolder(files: 1) { folder in
            let run = try UploaderProcess(
                Self.push + ["--save-database", "files"], in: folder, environment: ["TMPDIR": "/nonexistent"]
            ).wait()
            #expect(run.status == 0, "\(run)")
            let recover = try UploaderProcess(
                ["recover", "--unauthenticated", "--from", "dir:remote", "--database", "b.sqlite"], in: folder,
                environment: ["TMPDIR": "/nonexistent"]
            ).wait()
            #expect(recover.status == 0, "\(recover)")
        }
    }

    @Test("A limit on the file size is not reported as a full disk")
    func fileSizeLimit() throws {
        try withFolder(files: 3, byteCount: 100_000) { folder in
            let run = try UploaderProcess(Self.push + ["files"], in: folder, through: shell("ulimit -f 64")).wait()
            #expect(run.status != 0)
            #expect(run.messages.contains("'ulimit -f'"), "\(run)")
        }
    }

    @Test("A push waits for a locked database and reports it without SQL")
    func lockedDatabase() throws {
        try withFolder(files: 1) { folder in
            let isLocked = DispatchSemaphore(value: 0)
            let server = try AnsweringServer { request, _ in
                guard request.method == "PUT" else { return .failure(404, code: "NoSuchKey") }
                isLocked.wait()
                isLocked.signal()
                return .uploaded(request)
            }
            defer { server.close() }
            let run = try UploaderProcess(
                ["push", "--database", "a.sqlite", "--to", server.storage, "files"], in: folder,
                environment: server.environment)
            while run.process.isRunning, server.count == 0 { sched_yield() }
            let queue = try TestDatabase.open(folder.appendingPathComponent("a.sqlite"))
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "BEGIN IMMEDIATE")
                isLocked.signal()
                while run.process.isRunning, try !run.resultSoFar().messages.contains("locked") { sched_yield() }
                try db.execute(sql: "COMMIT")
            }
            try queue.close()
            let result = try run.wait()
            #expect(result.status == 0, "\(result)")
            #expect(result.messages.contains("another program has locked the database"), "\(result)")
            #expect(!result.messages.contains("SQLite error") && !result.messages.contains("BEGIN"), "\(result)")
        }
    }
}

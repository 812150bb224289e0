import Dispatch
import Foundation
import GRDB
import Testing

@Suite("Pushing", .timeLimit(.minutes(10)))
struct PushTests {
    @Test("A push uploads a folder, and each object equals its file")
    func folder() throws {
        try withFolder(files: 30) { folder in
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent("files/deep/deeper"), withIntermediateDirectories: true)
            try Data().write(to: folder.appendingPathComponent("files/deep/deeper/empty"))
            try randomData(3_000_000).write(to: folder.appendingPathComponent("files/deep/large.mov"))
            let pushed = try UploaderProcess.run(
                "push", "--database", "a.sqlite", "--to", "dir:remote", "--json", "files", in: folder)
            #expect(pushed.status == 0)
            #expect(pushed.summary?["attached"] as? Int == 32)
            #expect(pushed.summary?["uploaded"] as? Int == 32)
            #expect(pushed.summary?["failed"] as? Int == 0)
            #expect(pushed.summary?["bytes"] as? Int == 30 * 10_240 + 3_000_000)
            for event in pushed.events where event["event"] as? String == "uploaded" {
                let url = try #require(URL(string: event["url"] as? String ?? ""))
                let id = try #require(event["id"] as? String)
                let attached = try #require(
                    pushed.events.first { $0["event"] as? String == "attached" && $0["id"] as? String == id })
                let source = URL(fileURLWithPath: attached["path"] as? String ?? "")
                #expect(try Data(contentsOf: url) == Data(contentsOf: source))
            }
            let temporary = folder.appendingPathComponent("a.sqlite.lfs/temporary")
            #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path).isEmpty)
        }
    }

    @Test("Files from after the year 2262 are pushed, verified and pulled")
    func distantTimes() throws {
        try withFolder(files: 2) { folder in
            let file = folder.appendingPathComponent("files/0.bin")
            func setTime(_ url: URL, seconds: Double) throws {
                let date = Date(timeIntervalSince1970: seconds)
                try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: url.path)
            }
            try setTime(file, seconds: 10_413_792_000)
            let push = ["push", "--database", "a.sqlite", "--to", "dir:remote", "--json", "files"]
            let first = try UploaderProcess(push, in: folder).wait()
            #expect(first.status == 0 && first.summary?["uploaded"] as? Int == 2)
            #expect(try UploaderProcess(push, in: folder).wait().summary?["skipped"] as? Int == 2)
            // A different time is a change, also beyond the limit.
            try randomData(10_240).write(to: file)
            try setTime(file, seconds: 10_413_792_001)
            #expect(try UploaderProcess(push, in: folder).wait().summary?["uploaded"] as? Int == 1)
            let objects = FileManager.default.enumerator(
                at: folder.appendingPathComponent("remote"), includingPropertiesForKeys: nil)
            for case let url as URL in try #require(objects) { try setTime(url, seconds: 10_413_792_000) }
            let verified = try UploaderProcess.run(
                "verify", "--database", "a.sqlite", "--to", "dir:remote", "--content", in: folder)
            #expect(verified.status == 0, "\(verified.messages)")
            let pulled = try UploaderProcess.run(
                "pull", "--database", "a.sqlite", "--to", "dir:remote", "--all", "--output", "out", in: folder)
            #expect(pulled.status == 0, "\(pulled.messages)")
            let copies = try #require(
                FileManager.default.enumerator(
                    at: folder.appendingPathComponent("out"), includingPropertiesForKeys: nil))
            let copy = try #require(copies.compactMap { $0 as? URL }.first { $0.lastPathComponent == "0.bin" })
            let attributes = try FileManager.default.attributesOfItem(atPath: copy.path)
            let date = attributes[.modificationDate] as? Date
            #expect(date?.timeIntervalSince1970 == 10_413_792_001)
        }
    }

    @Test("A second push attaches only new and changed files")
    func again() throws {
        try withFolder(files: 10) { folder in
            let push = ["push", "--database", "a.sqlite", "--to", "dir:remote", "--json", "files"]
            _ = try UploaderProcess(push, in: folder).wait()
            #expect(try UploaderProcess(push, in: folder).wait().summary?["skipped"] as? Int == 10)
            try randomData(10_240).write(to: folder.appendingPathComponent("files/0.bin"))
            try randomData(5).write(to: folder.appendingPathComponent("files/new.bin"))
            #expect(try system("touch", folder.appendingPathComponent("files/1.bin").path))
            let third = try UploaderProcess(push, in: folder).wait()
            #expect(third.summary?["attached"] as? Int == 2)
            #expect(third.summary?["skipped"] as? Int == 9)
            let status = try UploaderProcess.run("status", "--database", "a.sqlite", "--json", in: folder)
            let storage = folder.resolvingSymlinksInPath().appendingPathComponent("remote").path
            #expect(
                status.output == "{\"documents\":11,\"event\":\"status\",\"failed\":0,\"failures\":[],\"files\":11,"
                    + "\"local\":0,\"ofOthers\":0,\"pendingBytes\":0,\"remote\":11,\"retrying\":[],\"schema\":1,"
                    + "\"storage\":\"dir:\(storage)\",\"waitingDeletions\":0,\"withoutUpload\":0}\n")
        }
    }

    @Test("A push attaches each file once, and skips its own database and storage")
    func ownFiles() throws {
        try withFolder(files: 5) { folder in
            let push = [
                "push", "--database", "a.sqlite", "--to", "dir:remote", "--json", "files/1.bin", "files", ".", "files",
            ]
            for attached in [5, 0] {
                let result = try UploaderProcess(push, in: folder).wait()
                let paths = result.events.compactMap {
                    $0["event"] as? String == "attached" ? $0["path"] as? String : nil
                }
                // The folder also contains the logs of the test.
                #expect(paths.filter { $0.hasSuffix(".bin") }.count == attached)
                #expect(!paths.contains { $0.contains("/remote/") || $0.contains("a.sqlite") })
            }
            #expect(
                try TestDatabase.count("lfs_file", in: folder.appendingPathComponent("a.sqlite"))
                    == TestDatabase.count(
                        "(SELECT DISTINCT fileId FROM uploader_document)",
                        in: folder.appendingPathComponent("a.sqlite")))
        }
    }

    @Test("Two concurrent pushes of a folder leave one file per document")
    func twoPushes() throws {
        try withFolder(files: 600) { folder in
            let push = ["push", "--database", "a.sqlite", "--to", "dir:remote", "--json", "files"]
            _ = try UploaderProcess(
                ["push", "--database", "a.sqlite", "--to", "dir:remote", "files/0.bin"], in: folder
            ).wait()
            let runs = try (0..<2).map { _ in try UploaderProcess(push, in: folder) }
            for run in runs {
                let result = try run.wait()
                #expect(result.status == 0, "\(result.messages)")
                #expect(result.summary?["failed"] as? Int == 0)
            }
            let database = folder.appendingPathComponent("a.sqlite")
            #expect(try TestDatabase.count("uploader_document", in: database) == 600)
            _ = try UploaderProcess.run("resume", "--database", "a.sqlite", "--to", "dir:remote", in: folder)
            #expect(try TestDatabase.count("lfs_file", in: database) == 600)
            #expect(try TestDatabase.count("lfs_file WHERE status = 'remote'", in: database) == 600)
        }
    }

    @Test(
        "A second push restores local bytes that were lost before the upload",
        arguments: [true, false])
    func mended(isLost: Bool) throws {
        try withFolder(files: 2) { folder in
            let push = ["push", "--copy", "--database", "a.sqlite", "--to", "dir:remote", "--json", "files"]
            // Creates the storage folder first.
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent("remote"), withIntermediateDirectories: true)
            _ = try UploaderProcess(push, in: folder).wait()
            let database = folder.appendingPathComponent("a.sqlite")
            let entry = try #require(try TestDatabase.entries(in: database).first)
            try TestDatabase.forgetUpload(of: entry.id, in: database)
            let kept = folder.appendingPathComponent("a.sqlite.lfs/\(entry.id)")
            try FileManager.default.removeItem(at: kept)
            if !isLost { try randomData(10_240).write(to: kept) }
            let first = try UploaderProcess(push, in: folder).wait()
            let second = first.status == 0 ? first : try UploaderProcess(push, in: folder).wait()
            #expect(second.status == 0, "\(second.messages)")
            #expect(try TestDatabase.count("lfs_file WHERE status = 'remote'", in: database) == 2)
            #expect(try TestDatabase.count("lfs_file", in: database) == 2)
        }
    }

    @Test("Two files of the same name from different folders are both restored")
    func sameName() throws {
        try withFolder { folder in
            for name in ["x", "y"] {
                try FileManager.default.createDirectory(
                    at: folder.appendingPathComponent(name), withIntermediateDirectories: true)
                try Data(name.utf8).write(to: folder.appendingPathComponent("\(name)/note.txt"))
            }
            _ = try UploaderProcess.run(
                "push", "--database", "a.sqlite", "--to", "dir:remote", "x/note.txt", "y/note.txt", in: folder)
            let pulled = try UploaderProcess.run(
                "pull", "--database", "a.sqlite", "--to", "dir:remote", "--all", "--output", "out", in: folder)
            #expect(pulled.status == 0, "\(pulled.messages)")
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent("out").path).count
                    == 2)
        }
    }

    @Test("Output that cannot be written is an error")
    func lostResults() throws {
        try withFolder(files: 1) { folder in
            _ = try UploaderProcess.run("push", "--database", "a.sqlite", "--to", "dir:remote", "files", in: folder)
            let list = ["list", "--database", "a.sqlite"]
            let full = try UploaderProcess(list, in: folder, through: ["/bin/sh", "-c", "\"$0\" \"$@\" >/dev/full"])
                .wait()
            #expect(full.status == 1)
            #expect(full.messages.contains("cannot be written"))
            #expect(try UploaderProcess.run("push", "--database", "a", "--to", "dir:r", "", in: folder).status == 64)
        }
    }

    @Test("A pull on another machine restores all files and overwrites none")
    func pull() throws {
        try withFolder(files: 10) { folder in
            _ = try UploaderProcess.run("push", "--database", "a.sqlite", "--to", "dir:remote", "files", in: folder)
            // The other machine has the database and the storage, but no local files.
            try FileManager.default.removeItem(at: folder.appendingPathComponent("a.sqlite.lfs"))
            let pull = ["pull", "--database", "a.sqlite", "--to", "dir:remote", "--all", "--output", "out", "--json"]
            let pulled = try UploaderProcess(pull, in: folder).wait()
            #expect(pulled.status == 0)
            #expect(
                try system(
                    "diff", "-r", folder.appendingPathComponent("files").path,
                    folder.appendingPathComponent("out/files").path))
            #expect(try UploaderProcess(pull, in: folder).wait().summary?["skipped"] as? Int == 10)
            let changed = folder.appendingPathComponent("out/files/3.bin")
            try Data("mine".utf8).write(to: changed)
            let third = try UploaderProcess(pull, in: folder).wait()
            #expect(third.status == 3)
            #expect(try Data(contentsOf: changed) == Data("mine".utf8))
        }
    }

    @Test("Removed files are deleted from the storage, and unknown ids are reported")
    func remove() throws {
        try withFolder(files: 5) { folder in
            let pushed = try UploaderProcess.run(
                "push", "--database", "a.sqlite", "--to", "dir:remote", "--json", "files", in: folder)
            let ids = pushed.events.compactMap { $0["event"] as? String == "uploaded" ? $0["id"] as? String : nil }
            let removed = try UploaderProcess(
                ["remove", "--database", "a.sqlite", "--to", "dir:remote", ids[0], ids[1]], in: folder
            ).wait()
            #expect(removed.status == 0)
            let objects = try FileManager.default.subpathsOfDirectory(
                atPath: folder.appendingPathComponent("remote").path)
            #expect(Set(objects.map { $0.suffix(36) }.filter { $0.contains("-") }.map(String.init)) == Set(ids[2...]))
            let unknown = try UploaderProcess.run(
                "remove", "--database", "a.sqlite", "--to", "dir:remote", ids[0], in: folder)
            #expect(unknown.status == 3)
            #expect(unknown.messages.contains(ids[0]))
        }
    }

    @Test("A dry run of a push lists the files to attach and creates nothing")
    func dryRun() throws {
        try withFolder(files: 3) { folder in
            let result = try UploaderProcess.run(
                "push", "--database", "a.sqlite", "--to", "dir:remote", "-n", "files", in: folder)
            #expect(result.status == 0)
            #expect(result.output.contains("3 files to attach, 30.0 KiB"))
            for name in ["a.sqlite", "remote", "a.sqlite.lfs"] {
                #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent(name).path))
            }
        }
    }

    @Test("A dry run of a push ignores files of another device that have the same paths")
    func dryRunAfterOther() throws {
        try withFolder(files: 2) { folder in
            let push = ["push", "--database", "a.sqlite", "--to", "dir:remote", "files"]
            #expect(try UploaderProcess(push, in: folder).wait().status == 0)
            let own = try UploaderProcess(push + ["-n"], in: folder).wait()
            #expect(own.status == 0 && own.output.contains("0 files to attach"), "\(own)")
            let other = String(repeating: "0", count: 32)
            try TestDatabase.execute(
                "UPDATE lfs_state SET namespace = '\(other)'", in: folder.appendingPathComponent("a.sqlite"))
            let preview = try UploaderProcess(push + ["-n"], in: folder).wait()
            #expect(preview.status == 0 && preview.output.contains("2 files to attach, 20.0 KiB"), "\(preview)")
        }
    }

    @Test("Ctrl-C ends a push with status 130, and resume uploads the rest")
    func interrupt() throws {
        try withFolder(files: 1_500) { folder in
            let push = try UploaderProcess(
                ["push", "--database", "a.sqlite", "--to", "dir:remote", "--json", "files"], in: folder)
            let database = folder.appendingPathComponent("a.sqlite.lfs/lfs.json").path
            while !FileManager.default.fileExists(atPath: database) { sched_yield() }
            push.process.interrupt()
            let result = try push.wait()
            #expect(result.status == 130)
            #expect(result.summary != nil)
            #expect(result.messages.contains("Stopping"))
            let resumed = try UploaderProcess.run("resume", "--database", "a.sqlite", "--to", "dir:remote", in: folder)
            #expect(resumed.status == 0)
            let status = try UploaderProcess.run("status", "--database", "a.sqlite", "--json", in: folder)
            #expect(status.output.contains("\"local\":0"))
        }
    }

    @Test("The summary includes uploads that finished after Ctrl-C")
    func interruptedSummary() throws {
        try withFolder(files: 1_500) { folder in
            let push = try UploaderProcess(
                ["push", "--database", "a.sqlite", "--to", "dir:remote", "--json", "files"], in: folder)
            let database = folder.appendingPathComponent("a.sqlite")
            while push.process.isRunning, try remoteCount(database) == 0 { sched_yield() }
            push.process.interrupt()
            let result = try push.wait()
            let count = try remoteCount(database)
            #expect(count > 0)
            #expect(result.summary?["uploaded"] as? Int == count)
            #expect(result.events.count { $0["event"] as? String == "uploaded" } == count)
        }
    }

    private func remoteCount(_ database: URL) throws -> Int {
        guard try TestDatabase.hasTable("uploader_document", in: database) else { return 0 }
        return try TestDatabase.count("lfs_file WHERE status = 'remote'", in: database)
    }

    @Test("The folder of the storage is not pushed")
    func storageItself() throws {
        try withFolder(files: 1) { folder in
            let command = ["push", "--database", "a.sqlite", "--to", "dir:files"]
            let alone = try UploaderProcess(command + ["files"], in: folder).wait()
            #expect(alone.status == 3 && alone.messages.contains("Name a folder with files"), "\(alone)")
            let database = try UploaderProcess(command + ["a.sqlite", "files/."], in: folder).wait()
            #expect(database.status == 3 && database.messages.contains("Name a folder with files"), "\(database)")
            let photos = folder.appendingPathComponent("photos")
            try FileManager.default.createDirectory(at: photos, withIntermediateDirectories: false)
            try randomData(100).write(to: photos.appendingPathComponent("a.jpg"))
            let both = try UploaderProcess(command + ["files", "photos"], in: folder).wait()
            #expect(both.status == 0 && both.output.contains("1 attached"), "\(both)")
        }
    }

    @Test("Help, a wrong option and a wrong storage have distinct exit statuses")
    func usage() throws {
        try withFolder { folder in
            #expect(try UploaderProcess.run("--help", in: folder).status == 0)
            #expect(try UploaderProcess.run("push", "--nonsense", in: folder).status == 64)
            let storage = try UploaderProcess.run("push", "--database", "a", "--to", "ftp:x", "files", in: folder)
            #expect(storage.status == 64)
            #expect(storage.messages.contains("dir:PATH"))
            #expect(
                try UploaderProcess.run("pull", "--database", "a", "--to", "dir:r", "--output", "o", in: folder).status
                    == 64)
        }
    }

    @Test("A file that is removed during its upload does not count as uploaded")
    func removedDuringUpload() throws {
        try withFolder(files: 1) { folder in
            let hasArrived = DispatchSemaphore(value: 0)
            let isRemoved = DispatchSemaphore(value: 0)
            let server = try AnsweringServer { request, _ in
                if request.method == "DELETE" { return .init(status: 204, headers: ["x-amz-request-id": "1"]) }
                guard request.method == "PUT" else { return .failure(404, code: "NoSuchKey") }
                hasArrived.signal()
                isRemoved.wait()
                isRemoved.signal()
                return .uploaded(request)
            }
            defer { server.close() }
            let run = try UploaderProcess(
                ["push", "--database", "a.sqlite", "--to", server.storage, "--json", "files"], in: folder,
                environment: server.environment)
            while run.process.isRunning, hasArrived.wait(timeout: .now()) == .timedOut { sched_yield() }
            let queue = try TestDatabase.open(folder.appendingPathComponent("a.sqlite"))
            try queue.write { try $0.execute(sql: "DELETE FROM uploader_document; DELETE FROM lfs_file") }
            try queue.close()
            isRemoved.signal()
            let result = try run.wait()
            #expect(result.status == 0, "\(result)")
            #expect(result.summary?["attached"] as? Int == 1, "\(result)")
            #expect(result.summary?["uploaded"] as? Int == 0, "\(result)")
            #expect(!result.events.contains { $0["event"] as? String == "uploaded" }, "\(result)")
        }
    }
}

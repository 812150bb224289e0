#if os(Linux)
import Foundation
import Testing

@Suite("Watching pushes", .serialized, .timeLimit(.minutes(10)))
struct WatchTests {
    /// A push that watches a folder until the test ends it with a signal.
    private struct Watch {
        let folder: URL
        let uploader: UploaderProcess

        func write(_ name: String, bytes: Data = randomData(1_000)) throws {
            let url = folder.appendingPathComponent(name)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            // A file that is seen before it has its bytes would be uploaded twice.
            let new = folder.appendingPathComponent(UUID().uuidString)
            try bytes.write(to: new)
            #expect(rename(new.path, url.path) == 0)
        }

        func events(_ name: String) throws -> [[String: Any]] {
            try uploader.resultSoFar().events.filter { $0["event"] as? String == name }
        }

        /// Returns true when a condition holds, and false if the uploader ends before.
        func wait(_ condition: () throws -> Bool) throws -> Bool {
            while try !condition() {
                if !uploader.process.isRunning { return try condition() }
                usleep(5_000)
            }
            return true
        }

        /// Returns the sum of a field over all batches.
        func sum(_ field: String) throws -> Int {
            try events("batch").reduce(0) { $0 + ($1[field] as? Int ?? 0) }
        }

        func remoteCount() throws -> Int {
            try TestDatabase.count(
                "lfs_file WHERE status = 'remote'", in: folder.appendingPathComponent("a.sqlite"))
        }

        /// The output for the messages of a test.
        var told: String { do { return "\(try uploader.resultSoFar())" } catch { return "\(error)" } }

        func end(_ signal: Int32 = SIGINT) throws -> UploaderProcess.Result {
            Foundation.kill(uploader.process.processIdentifier, signal)
            return try uploader.wait()
        }
    }

    private func watching(
        _ options: [String] = [], to storage: String = "dir:remote", files: Int = 1, paths: [String] = ["files"],
        through wrapper: [String] = [], environment: [String: String] = [:], _ body: (Watch) throws -> Void
    ) throws {
        try withFolder(files: files) { folder in
            let command =
                ["push", "--database", "a.sqlite", "--to", storage, "--watch", "--settle", "0.2s", "--json"]
                + ["--progress", "none"] + options + paths
            let uploader = try UploaderProcess(command, in: folder, through: wrapper, environment: environment)
            defer { if uploader.process.isRunning { uploader.process.terminate() } }
            let watch = Watch(folder: folder, uploader: uploader)
            #expect(try watch.wait { try !watch.events("watching").isEmpty }, "\(watch.told)")
            try body(watch)
        }
    }

    @Test("A watching push uploads written and moved files until a signal ends it", arguments: [SIGINT, SIGTERM])
    func follows(signal: Int32) throws {
        try watching(["--exclude", "*.tmp"]) { watch in
            #expect(try watch.wait { try watch.sum("uploaded") == 1 })
            try watch.write("files/new.bin")
            try watch.write("files/deep/deeper/one.bin")
            try watch.write("files/left.tmp")
            try watch.write("outside")
            #expect(rename(watch.folder.path + "/outside", watch.folder.path + "/files/moved.bin") == 0)
            #expect(try watch.wait { try watch.sum("uploaded") == 4 }, "\(watch.told)")
            try watch.write("files/new.bin", bytes: randomData(2_000))
            #expect(rename(watch.folder.path + "/files/deep", watch.folder.path + "/files/other") == 0)
            try watch.write("files/other/deeper/two.bin")
            // The moved file has the same bytes and is not uploaded again.
            #expect(try watch.wait { try watch.sum("uploaded") == 6 && watch.sum("attached") == 7 })
            #expect(symlink("new.bin", watch.folder.path + "/files/link") == 0)
            let link = "uploader_entry WHERE path LIKE '%/files/link' AND target = 'new.bin'"
            let database = watch.folder.appendingPathComponent("a.sqlite")
            #expect(try watch.wait { try TestDatabase.count(link, in: database) == 1 }, "\(watch.told)")
            try FileManager.default.removeItem(at: watch.folder.appendingPathComponent("files/new.bin"))
            let ended = try watch.end(signal)
            #expect(ended.status == 128 + signal, "\(ended.messages)")
            #expect(ended.summary?["uploaded"] as? Int == 6 && ended.summary?["failed"] as? Int == 0)
            let entries = try TestDatabase.entries(in: watch.folder.appendingPathComponent("a.sqlite"))
            #expect(entries.allSatisfy { $0.status == "remote" && !$0.path.hasSuffix(".tmp") })
            // Deleted files stay recorded.
            #expect(
                Set(entries.map { ($0.path as NSString).lastPathComponent })
                    == ["0.bin", "new.bin", "one.bin", "two.bin", "moved.bin"])
        }
    }

    @Test("Thousands of files that arrive at once are pushed in a few batches")
    func thousands() throws {
        try watching { watch in
            let new = watch.folder.appendingPathComponent("new")
            try FileManager.default.createDirectory(at: new, withIntermediateDirectories: false)
            for number in 0..<2_000 { try Data("\(number)".utf8).write(to: new.appendingPathComponent("\(number)")) }
            #expect(rename(new.path, watch.folder.path + "/files/new") == 0)
            #expect(try watch.wait { try watch.sum("uploaded") == 2_001 })
            #expect(try watch.events("batch").count <= 4)
            #expect(try watch.end().status == 130)
        }
    }

    @Test("A watching push saves the database, frees copies and moves after each batch")
    func ending() throws {
        try watching(["--free-uploaded", "--move", "--save-database"]) { watch in
            #expect(try watch.wait { try watch.sum("moved") == 1 })
            try watch.write("files/new.bin")
            #expect(try watch.wait { try watch.sum("moved") == 2 }, "\(watch.told)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: watch.folder.path + "/files").isEmpty)
            let copies = try FileManager.default.contentsOfDirectory(atPath: watch.folder.path + "/a.sqlite.lfs")
            #expect(copies.allSatisfy { $0.count != 36 })
            // Each save came before the originals were deleted.
            let told = try watch.uploader.resultSoFar().events.compactMap { $0["event"] as? String }
            let steps = told.filter { ["saved", "moved"].contains($0) }
            #expect(steps.filter { $0 == "moved" }.count == 2)
            for (before, step) in zip([""] + steps, steps) where step == "moved" {
                #expect(before == "saved", "\(steps)")
            }
            // Another process that opens an original for writing causes a SIGIO, which must not end the push.
            let status = try String(
                contentsOfFile: "/proc/\(watch.uploader.process.processIdentifier)/status", encoding: .utf8)
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("SigIgn:") })
            let ignored = try #require(UInt64(line.dropFirst(7).trimmingCharacters(in: .whitespaces), radix: 16))
            #expect(ignored & 1 << UInt64(SIGIO - 1) != 0)
            #expect(try watch.end().status == 130)
        }
    }

    @Test("A signal saves a database copy with the latest files", arguments: [SIGINT, SIGTERM])
    func savesAtTheEnd(signal: Int32) throws {
        try watching(["--save-database"]) { watch in
            #expect(try watch.wait { try watch.events("saved").count == 1 }, "\(watch.told)")
            try watch.write("files/new.bin")
            #expect(try watch.wait { try watch.sum("uploaded") == 2 })
            // The next copy would be due in five minutes.
            #expect(try watch.events("saved").count == 1)
            #expect(try watch.end(signal).status == 128 + signal)
            let recovered = try UploaderProcess(
                ["recover", "--unauthenticated", "--from", "dir:remote", "--database", "b.sqlite"], in: watch.folder
            ).wait()
            #expect(recovered.output.contains("b.sqlite: 2 files"), "\(recovered)")
        }
    }

    @Test("A database copy that cannot be saved at the end is reported without a delay")
    func endWithoutSaving() throws {
        try watching(["--save-database"]) { watch in
            #expect(try watch.wait { try watch.events("saved").count == 1 }, "\(watch.told)")
            try watch.write("files/new.bin")
            #expect(try watch.wait { try watch.sum("uploaded") == 2 })
            #expect(rename(watch.folder.path + "/remote", watch.folder.path + "/away") == 0)
            let ended = try watch.end(SIGTERM)
            #expect(ended.status == 143 && ended.messages.contains("The next run saves it."), "\(ended)")
        }
    }

    @Test("A watching push waits for an unreachable storage and reports pending files")
    func storageAway() throws {
        // No server listens on port 1.
        let away = "s3://photos?endpoint=http://127.0.0.1:1&addressing=path&region=x"
        let keys = ["AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"]
        try watching(["--give-up-after", "0.5s"], to: away, environment: keys) { watch in
            let isExplained = try watch.wait {
                let waiting = try watch.events("waiting")
                return waiting.count >= 2
                    && waiting.contains {
                        $0["files"] as? Int == 1 && ($0["reason"] as? String)?.contains("127.0.0.1") == true
                    }
            }
            #expect(isExplained, "\(watch.told)")
            let ended = try watch.end()
            #expect(
                ended.status == 130 && ended.messages.contains("1 file not uploaded: no byte was accepted for 1s: "))
        }
    }

    @Test("A watching push uploads a file that is written in place")
    func writtenInPlace() throws {
        try watching(files: 0) { watch in
            let bytes = randomData(300_000)
            try bytes.write(to: watch.folder.appendingPathComponent("files/a"))
            let isStored = try watch.wait {
                let entries = try TestDatabase.entries(in: watch.folder.appendingPathComponent("a.sqlite"))
                return entries.contains { entry in
                    // The object of an earlier form may be removed between the two looks.
                    let object = watch.folder.appendingPathComponent("remote/\(entry.key)").path
                    return entry.status == "remote" && FileManager.default.contents(atPath: object) == bytes
                }
            }
            #expect(isStored, "\(watch.told)")
        }
    }

    @Test("Folders beyond the limit of watches are rescanned, which is reported")
    func limit() throws {
        guard try system("unshare", "--user", "--map-root-user", "true") else { return }
        let wrapper = [
            "/usr/bin/env", "unshare", "--user", "--map-root-user", "/bin/sh", "-c",
            "echo 1 > /proc/sys/user/max_inotify_watches && exec \"$0\" \"$@\"",
        ]
        try withFolder { other in
            try FileManager.default.createDirectory(
                at: other.appendingPathComponent("more"), withIntermediateDirectories: false)
            try watching(["--rescan", "0.3s"], paths: ["files", other.path], through: wrapper) { watch in
                let words = "only 1 folder can be watched (No space left on device)"
                #expect(try watch.wait { try watch.uploader.resultSoFar().messages.contains(words) })
                try Data("x".utf8).write(to: other.appendingPathComponent("more/new"))
                #expect(try watch.wait { try watch.sum("uploaded") == 2 })
                #expect(try watch.end().status == 130)
            }
        }
    }

    @Test("A deleted folder is reported, and watched again when it is back")
    func vanished() throws {
        try watching(["--rescan", "0.3s"]) { watch in
            #expect(rename(watch.folder.path + "/files", watch.folder.path + "/away") == 0)
            #expect(try watch.wait { try watch.uploader.resultSoFar().messages.contains("no longer exists") })
            #expect(rename(watch.folder.path + "/away", watch.folder.path + "/files") == 0)
            try watch.write("files/new.bin")
            #expect(try watch.wait { try watch.sum("uploaded") == 2 })
            #expect(try watch.end().status == 130)
        }
    }

    @Test("A watching push without a folder fails, and useless options are refused")
    func nothing() throws {
        try withFolder { folder in
            let push = ["push", "--database", "a.sqlite", "--to", "dir:remote"]
            let typo = try UploaderProcess(push + ["--watch", "typo"], in: folder).wait()
            #expect(typo.status == 3, "\(typo)")
            for words in [
                ["--settle", "5s"], ["--rescan", "5m"], ["--watch", "-n"], ["--watch", "--settle", "never"],
            ] {
                let refused = try UploaderProcess(push + words + ["files"], in: folder).wait()
                #expect(refused.status == 64, "\(words)")
            }
        }
    }
}
#endif

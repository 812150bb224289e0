import Foundation
import Testing

/// A database whose files change, with helpers that read their old versions.
struct VersionedFiles {
    let folder: URL
    var database: URL { folder.appendingPathComponent("a.sqlite") }
    private static let storage = ["--database", "a.sqlite", "--to", "dir:remote"]

    @discardableResult
    func run(
        _ command: String, words: String..., with more: [String] = [], exit: Int32 = 0
    ) throws -> UploaderProcess.Result {
        let isLocal = ["list", "status", "free", "pin"].contains(command)
        let storage = isLocal ? Array(Self.storage.prefix(2)) : Self.storage
        let result = try UploaderProcess([command] + storage + words + more, in: folder).wait()
        #expect(result.status == exit, "\(command) \(words): \(result.messages)\(result.output)")
        return result
    }

    /// Pushes the folder `files` with some options.
    @discardableResult
    func push(_ words: String...) throws -> [String: Any] {
        let result = try UploaderProcess(
            ["push", "--copy"] + Self.storage + ["--json"] + words + ["files"], in: folder
        ).wait()
        #expect(result.status == 0, "\(words): \(result.messages)")
        return try #require(result.summary)
    }

    func write(_ text: String, to name: String = "a") throws {
        try Data(text.utf8).write(to: folder.appendingPathComponent("files/\(name)"))
    }

    func read(_ path: String) -> String? {
        (try? Data(contentsOf: folder.appendingPathComponent(path))).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Pushes the file `a` once with each content. The options are given to the first push.
    func push(_ contents: [String], words: String...) throws {
        for (index, text) in contents.enumerated() {
            try write(text)
            let more = index == 0 ? words : []
            let pushed = try UploaderProcess(["push", "--copy"] + Self.storage + more + ["files"], in: folder).wait()
            #expect(pushed.status == 0, "\(pushed.messages)")
        }
    }

    /// Returns the objects of `list --versions --json`.
    func versions(_ names: String...) throws -> [[String: Any]] {
        let words = ["list", "--database", "a.sqlite", "--versions", "--json"] + names
        let result = try UploaderProcess(words, in: folder).wait()
        #expect(result.status == 0, "\(result.messages)")
        return result.events
    }

    /// Returns the ids of the old versions of all files, the newest of each file first.
    func old() throws -> [String] {
        try versions().filter { $0["current"] as? Bool == false }.compactMap { $0["id"] as? String }
    }

    /// Returns the number of objects of files on the storage.
    func objects() -> Int {
        let names = FileManager.default.enumerator(atPath: folder.appendingPathComponent("remote").path)
        return names?.filter { ($0 as? String)?.split(separator: "/").last?.count == 36 }.count ?? 0
    }

    func sql(_ statements: String...) throws {
        for statement in statements { try TestDatabase.execute(statement, in: database) }
    }

    func count(_ table: String) throws -> Int { try TestDatabase.count(table, in: database) }

    /// Makes all replacements older by a number of seconds, which the clock of versions counts.
    func age(by seconds: Int) throws {
        try sql(
            "UPDATE uploader_replaced SET replacedAt = replacedAt - \(seconds)",
            "UPDATE uploader_storage SET versionsAge = versionsAge + \(seconds)")
    }

    /// Sets the last look at the clock back by a number of seconds, as if the clock had leapt.
    func leap(by seconds: Int) throws {
        try sql("UPDATE uploader_storage SET versionsSeen = versionsSeen - \(seconds)")
    }
}

func withVersionedFiles(_ body: (VersionedFiles) throws -> Void) throws {
    try withFolder { folder in try body(VersionedFiles(folder: folder)) }
}

@Suite("Old versions of changed files", .timeLimit(.minutes(10)))
struct VersionsTests {
    @Test("Without --keep-versions, the old object is deleted once the new one is uploaded")
    func none() throws {
        try withVersionedFiles { files in
            try files.push(["one"])
            try files.write("two")
            let summary = try files.push()
            #expect(summary["versions"] as? Int == 0)
            #expect(files.objects() == 1)
            #expect(try files.count("uploader_replaced") == 0)
            #expect(try files.old().isEmpty)
            try files.write("three")
            #expect(try !files.run("push", words: "files").output.contains("version"))
            #expect(try !files.run("status").output.contains("version"))
            #expect(try files.run("status", words: "--json").events.first?["versions"] == nil)
        }
    }

    @Test("A dry run lists the versions that would expire and keeps them", arguments: [nil, "none", "forever", "90d"])
    func dryRun(_ choice: String?) throws {
        try withVersionedFiles { files in
            try files.push(["one", "two", "three"], words: "--keep-versions", "30d")
            let words = choice.map { ["--keep-versions", $0] } ?? []
            let dry = try files.run("push", words: "--dry-run", "files", with: words)
            #expect(dry.output.contains("2 old versions to remove, 6 B") == (choice == "none"), "\(dry.output)")
            let event = try files.run("push", words: "--dry-run", "--json", "files", with: words).events
                .first { $0["event"] as? String == "wouldExpire" }
            #expect(event?["versions"] as? Int == (choice == "none" ? 2 : nil))
            #expect(event?["bytes"] as? Int == (choice == "none" ? 6 : nil))
            #expect(files.objects() == 3)
            #expect(try files.count("uploader_replaced") == 2)
            // On another storage, no version expires before a verification.
            let change = words + ["--change-storage", "--to", "dir:other"]
            let changed = try files.run("push", words: "--dry-run", "files", with: change)
            #expect(changed.output.hasSuffix("to attach, 0 B\n"), "\(changed)")
            // The push does what its dry run reported.
            let push = try files.run("push", words: "--json", "files", with: words)
            #expect(push.summary?["versions"] as? Int == event?["versions"] as? Int ?? 0)
        }
    }

    @Test("Versions stay on the storage, and their local copies are freed")
    func kept() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two", "three"], words: "--keep-versions", "30d")
            #expect(files.objects() == 3)
            let lines = try files.versions("files/a")
            #expect(lines.map { $0["bytes"] as? Int } == [5, 3, 3])
            #expect(lines.map { $0["current"] as? Bool } == [true, false, false])
            #expect(lines.allSatisfy { $0["event"] as? String == "version" && $0["status"] as? String == "remote" })
            try #require(lines.count == 3)
            #expect(lines[0]["keptUntil"] == nil && lines[0]["replaced"] == nil)
            for line in lines.dropFirst() {
                let times = try ["replaced", "keptUntil"].map { name in
                    try Date(try #require(line[name] as? String), strategy: .iso8601)
                }
                #expect(abs(times[0].timeIntervalSinceNow) < 100)
                #expect(abs(times[1].timeIntervalSince(times[0]) - 30 * 86_400) <= 1)
                let copy = try "a.sqlite.lfs/\(#require(line["id"] as? String))"
                #expect(!FileManager.default.fileExists(atPath: files.folder.appendingPathComponent(copy).path))
            }
            #expect(files.read(try "a.sqlite.lfs/\(#require(lines[0]["id"] as? String))") == "three")
            // The same list as text.
            let words = try files.run("list", words: "--versions").output.split(separator: "\n")
            #expect(words.count == 3 && words.allSatisfy { $0.hasSuffix("/files/a") }, "\(words)")
            // Lists without the option do not change.
            #expect(
                try files.run("list", words: "--json").events.map { $0["id"] as? String } == [lines[0]["id"] as? String]
            )
            #expect(try files.run("list").output.split(separator: "\n").count == 1)
        }
    }

    @Test("The retention setting is remembered for backups and watching pushes")
    func remembered() throws {
        try withVersionedFiles { files in
            try files.push(["one"], words: "--keep-versions", "forever")
            try files.write("two")
            try files.run("backup", words: "--groups", "include:files", "--when", "always")
            #expect(try files.old().count == 1)
            #expect(try files.versions().allSatisfy { $0["keptUntil"] == nil })
            let list = try files.run("list", words: "--versions").output
            #expect(list.components(separatedBy: "forever").count == 2, "\(list)")
            let watching = try UploaderProcess(
                ["push", "--database", "a.sqlite", "--watch", "--settle", "0.1s", "--json", "files"], in: files.folder)
            defer { if watching.process.isRunning { watching.process.terminate() } }
            while watching.process.isRunning, try !watching.outputSoFar().contains("\"watching\"") { sched_yield() }
            try files.write("three")
            while watching.process.isRunning, try !watching.outputSoFar().contains("\"uploaded\"") { sched_yield() }
            watching.process.interrupt()
            #expect(try watching.wait().status == 130)
            #expect(try files.old().count == 2)
        }
    }

    @Test("The status shows the number and the size of old versions")
    func status() throws {
        try withVersionedFiles { files in
            try files.push(["one", "four", "fives"], words: "--keep-versions", "2h")
            let status = try #require(
                try files.run("status", words: "--json").events.first?["versions"] as? [String: Any])
            #expect(status["count"] as? Int == 2 && status["bytes"] as? Int == 7 && status["keep"] as? String == "2h")
            #expect(try files.run("status").output.contains("2 old versions, 7 B, kept for 2h\n"))
        }
    }

    @Test("A restored content needs no upload, and is no version once versions expire")
    func back() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two", "one", "three", "one"], words: "--keep-versions", "30d")
            #expect(files.objects() == 3)
            // Each replacement is a version.
            #expect(try files.old().count == 4)
            let status = try #require(
                try files.run("status", words: "--json").events.first?["versions"] as? [String: Any])
            #expect(status["count"] as? Int == 4 && status["bytes"] as? Int == 8)
            let summary = try files.push("--keep-versions", "none")
            #expect(summary["versions"] as? Int == 4 && summary["versionBytes"] as? Int == 8)
            #expect(files.objects() == 1)
            try files.run("pull", words: "--all", "--output", "out")
            #expect(files.read("out/files/a") == "one")
        }
    }

    @Test("A pending old version is uploaded only if versions are kept")
    func waiting() throws {
        for choice in ["forever", "none"] {
            try withVersionedFiles { files in
                try files.push(["one"], words: "--keep-versions", choice)
                let id = try #require(TestDatabase.entries(in: files.database).first?.id)
                try TestDatabase.forgetUpload(of: id, in: files.database)
                let object = try #require(
                    FileManager.default.enumerator(atPath: files.folder.path + "/remote")?.first {
                        ($0 as? String)?.hasSuffix(id) == true
                    } as? String)
                try FileManager.default.removeItem(atPath: files.folder.path + "/remote/" + object)
                // The run does not upload the file before it is replaced.
                try files.sql(
                    "CREATE TABLE job AS SELECT * FROM lfs_job", "DELETE FROM lfs_job",
                    "CREATE TRIGGER back AFTER UPDATE OF fileId ON uploader_document "
                        + "BEGIN INSERT OR IGNORE INTO lfs_job SELECT * FROM job; END")
                try files.write("two")
                try files.push()
                try files.sql("DROP TRIGGER back", "DROP TABLE job")
                #expect(try files.old() == (choice == "none" ? [] : [id]))
                #expect(files.objects() == (choice == "none" ? 1 : 2))
                #expect(try files.versions().allSatisfy { $0["status"] as? String == "remote" })
            }
        }
    }

    @Test("An invalid time span or time is refused before any change")
    func wrongTimes() throws {
        try withVersionedFiles { files in
            try files.write("one")
            for wrong in ["", "30", "never", "soon", "0d", "40000d", "1e9d", "nan", "None"] {
                let run = try files.run("push", words: "--keep-versions", wrong, "files", exit: 64)
                #expect(run.messages.contains("is invalid for '--keep-versions"), "\(wrong): \(run.messages)")
            }
            #expect(!FileManager.default.fileExists(atPath: files.database.path))
            try files.push(["one", "two"], words: "--keep-versions", "1d")
            for wrong in ["", "now", "2026", "2026-13-01", "2026-02-30", "2026-11-25T25:00", "2026-11-25 18:40:00 Z"] {
                let run = try files.run("pull", words: "--as-of", wrong, "--all", "--output", "out", exit: 64)
                #expect(run.messages.contains("is not a time"), "\(wrong): \(run.messages)")
            }
            for words in [["--long"], ["--gone"], ["--status", "remote"], ["--reverse"]] {
                let list = ["list", "--database", "a.sqlite", "--versions"] + words
                #expect(try UploaderProcess(list, in: files.folder).wait().status == 64, "\(words)")
            }
            #expect(files.read("out/files/a") == nil)
        }
    }
}

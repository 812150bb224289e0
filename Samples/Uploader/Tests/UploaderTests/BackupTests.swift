import Foundation
import Testing

@Suite("Backups", .timeLimit(.minutes(10)))
struct BackupTests {
    private static let storage = ["--database", "a.sqlite", "--to", "dir:remote"]

    private static func backUp(_ more: [String], in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess(["backup"] + storage + ["--json"] + more, in: folder).wait()
    }

    @Test("Backup follows its groups and skips removed files until they are pushed")
    func groups() throws {
        try withFolder { folder in
            for name in ["files/a/1", "files/a/x/2", "files/b,c/3"] {
                let url = folder.appendingPathComponent(name)
                try FileManager.default.createDirectory(
                    at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
                try randomData(100).write(to: url)
            }
            let groups = ["--groups", "include:files/a,exclude:files/a/x,include:files/b,c"]
            let first = try Self.backUp(groups, in: folder)
            #expect(first.status == 0, "\(first.messages)")
            #expect(first.summary?["attached"] as? Int == 2)
            let database = folder.appendingPathComponent("a.sqlite")
            let entry = try #require(try TestDatabase.entries(in: database).first { $0.path.hasSuffix("/a/1") })
            #expect(try UploaderProcess(["remove"] + Self.storage + [entry.id], in: folder).wait().status == 0)
            let second = try Self.backUp(groups, in: folder)
            #expect(second.summary?["attached"] as? Int == 0)
            #expect(second.events.contains { $0["reason"] as? String == "it was removed on purpose" })
            let pushed = try UploaderProcess(["push"] + Self.storage + ["--json", "files/a/1"], in: folder).wait()
            #expect(pushed.summary?["attached"] as? Int == 1)
            #expect(try Self.backUp(groups, in: folder).summary?["attached"] as? Int == 0)
            #expect(try TestDatabase.entries(in: database).count == 2)

            let mistyped = try Self.backUp(["--groups", "include:files,exclude:files/z"], in: folder)
            #expect(mistyped.status == 1)
            #expect(mistyped.messages.contains("files/z"), "\(mistyped.messages)")
            for wrong in ["files", "include:", "all:files"] {
                #expect(try Self.backUp(["--groups", wrong], in: folder).status == 64)
            }
            #expect(try Self.backUp([], in: folder).status == 1)
        }
    }

    @Test("Equal files share an object until the last of them is changed or removed")
    func equalFiles() throws {
        try withFolder { folder in
            let content = randomData(1_000)
            let (one, two) = (folder.appendingPathComponent("files/1"), folder.appendingPathComponent("files/2"))
            try content.write(to: one)
            try content.write(to: two)
            let groups = ["--groups", "include:files"]
            let first = try Self.backUp(groups, in: folder)
            #expect(first.summary?["attached"] as? Int == 2)
            #expect(first.summary?["uploaded"] as? Int == 1)
            let database = folder.appendingPathComponent("a.sqlite")
            #expect(try TestDatabase.count("lfs_file WHERE status = 'remote'", in: database) == 1)
            #expect(try TestDatabase.count("uploader_document", in: database) == 2)
            try randomData(1_000).write(to: one)
            #expect(try Self.backUp(groups, in: folder).summary?["uploaded"] as? Int == 1)
            #expect(try TestDatabase.count("lfs_file WHERE status = 'remote'", in: database) == 2)
            let pulled = try UploaderProcess(["pull"] + Self.storage + ["--all", "--output", "out"], in: folder).wait()
            #expect(pulled.status == 0, "\(pulled.messages)")
            #expect(try Data(contentsOf: folder.appendingPathComponent("out/files/2")) == content)
            try randomData(1_000).write(to: two)
            #expect(try Self.backUp(groups, in: folder).status == 0)
            #expect(try TestDatabase.count("lfs_file", in: database) == 2)
            #expect(try TestDatabase.count("lfs_tombstone", in: database) == 0)
        }
    }

    @Test("A backup waits for Wi-Fi and mains power and shows this in the status")
    func conditions() throws {
        try withFolder(files: 3) { folder in
            try setDevice("wwan", battery: "Discharging", in: folder)
            let database = folder.appendingPathComponent("a.sqlite")
            let arguments = ["--groups", "include:files", "--when", "unmetered,mains", "--system-root", "system"]
            let patient = try Self.backUp(arguments + ["--give-up-after", "15s"], in: folder)
            #expect(patient.status == 3)
            #expect(patient.messages.contains("mains power"), "\(patient.messages)")
            #expect(try TestDatabase.count("lfs_job WHERE attempts = 0", in: database) == 3)
            let status = try UploaderProcess.run("status", "--database", "a.sqlite", in: folder)
            #expect(status.output.contains("uploads have been on hold for "), "\(status.output)")
            #expect(status.output.contains("waits for an unmetered network (net0 is a mobile one) and mains power"))

            let waiting = try UploaderProcess(["backup"] + Self.storage + arguments, in: folder)
            try setDevice("wlan", battery: "Charging", in: folder)
            let result = try waiting.wait()
            #expect(result.status == 0, "\(result.messages)")
            #expect(try TestDatabase.count("lfs_file WHERE status = 'remote'", in: database) == 3)
            let after = try UploaderProcess.run("status", "--database", "a.sqlite", "--json", in: folder)
            #expect(after.events.first?["hold"] == nil)
        }
    }

    @Test("A delayed backup stays in the queue when its run is terminated")
    func delay() throws {
        try withFolder(files: 2) { folder in
            let begin = Int64(Date().timeIntervalSince1970 * 1_000)
            let run = try UploaderProcess(
                ["backup"] + Self.storage + ["--groups", "include:files", "--when", "always", "--delay", "1h"],
                in: folder)
            let database = folder.appendingPathComponent("a.sqlite")
            // Without this line, users would not know why nothing is uploaded.
            let words = "2 files will be uploaded within "
            while try !run.outputSoFar().contains(words), run.process.isRunning { usleep(20_000) }
            #expect(try TestDatabase.count("lfs_job WHERE notBefore >= \(begin + 3_600_000)", in: database) == 2)
            run.process.terminate()
            #expect(try run.wait().status == 143)
            #expect(try TestDatabase.count("lfs_file WHERE status = 'local'", in: database) == 2)
            let status = try UploaderProcess.run("status", "--database", "a.sqlite", in: folder)
            #expect(status.output.contains(" backup, until "), "\(status.output)")
            // Another run also waits for the delay, and reports the reason.
            let resume = ["resume"] + Self.storage + ["--give-up-after", "15s", "--progress", "none"]
            let gaveUp = try UploaderProcess(resume, in: folder).wait()
            #expect(gaveUp.status == 3 && gaveUp.output.contains("2 files will be uploaded within"), "\(gaveUp)")
            #expect(gaveUp.messages.contains("it waits for the delay of a backup"), "\(gaveUp.messages)")
            try TestDatabase.execute("UPDATE lfs_job SET notBefore = 0", in: database)
            #expect(try UploaderProcess(resume, in: folder).wait().status == 0)
            #expect(try TestDatabase.count("lfs_file WHERE status = 'remote'", in: database) == 2)
            for wrong in ["2d", "soon", "-1s"] {
                #expect(try Self.backUp(["--groups", "include:files", "--delay=\(wrong)"], in: folder).status == 64)
            }
        }
    }

    @Test("A database of an earlier version recognizes its pushed files without a reread")
    func earlierVersion() throws {
        try withFolder(files: 5) { folder in
            let push = ["push"] + Self.storage + ["--json", "files"]
            #expect(try UploaderProcess(push, in: folder).wait().summary?["attached"] as? Int == 5)
            let database = folder.appendingPathComponent("a.sqlite")
            try TestDatabase.execute(
                "DELETE FROM lfs_source; DELETE FROM grdb_migrations WHERE identifier = 'uploader.v4'", in: database)
            let again = try UploaderProcess(push, in: folder).wait()
            #expect(again.summary?["skipped"] as? Int == 5)
            #expect(try TestDatabase.count("lfs_source WHERE state = 'attached'", in: database) == 5)
        }
    }

    /// Writes the files of `/proc` and `/sys` that describe the device below the folder `system`.
    private func setDevice(_ kind: String, battery: String, in folder: URL) throws {
        let files = [
            "proc/net/route": """
            Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
            net0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0

            """,
            "sys/class/net/net0/uevent": "DEVTYPE=\(kind)\n",
            "sys/class/power_supply/BAT0/type": "Battery\n",
            "sys/class/power_supply/BAT0/status": "\(battery)\n",
        ]
        for (name, text) in files {
            let url = folder.appendingPathComponent("system/\(name)")
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: url, options: .atomic)
        }
    }
}

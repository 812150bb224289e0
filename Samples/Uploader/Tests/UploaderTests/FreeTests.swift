import Foundation
import Testing

@Suite("Freeing local copies", .timeLimit(.minutes(10)))
struct FreeTests {
    private func uploader(_ arguments: String..., in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess([arguments[0], "--database", "a.sqlite"] + arguments.dropFirst(), in: folder).wait()
    }

    private func push(_ folder: URL) throws -> [TestDatabase.Entry] {
        let pushed = try UploaderProcess.run(
            "push", "--copy", "--database", "a.sqlite", "--to", "dir:remote", "--progress", "none", "files", in: folder)
        try #require(pushed.status == 0, "\(pushed.messages)")
        return try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))
    }

    private func copies(_ folder: URL) throws -> Set<String> {
        let names = try FileManager.default.contentsOfDirectory(
            atPath: folder.appendingPathComponent("a.sqlite.lfs").path)
        return Set(names.filter { $0.count == 36 })
    }

    @Test("Freeing frees the files of its dry run, and needs no storage")
    func budget() throws {
        try withFolder(files: 6) { folder in
            let entries = try push(folder)
            try FileManager.default.moveItem(
                at: folder.appendingPathComponent("remote"), to: folder.appendingPathComponent("away"))
            #expect(try uploader("pin", entries[0].id, in: folder).status == 0)
            let preview = try uploader("free", "--keep-bytes", "30KiB", "--dry-run", "--json", in: folder)
            #expect(preview.status == 0)
            #expect(try copies(folder).count == 6)
            let run = try uploader("free", "--keep-bytes", "30KiB", "--json", in: folder)
            #expect(run.status == 0)
            func ids(_ result: UploaderProcess.Result, event: String) -> [String] {
                result.events.filter { $0["event"] as? String == event }.compactMap { $0["id"] as? String }
            }
            #expect(ids(preview, event: "wouldFree").count == 3)
            #expect(ids(preview, event: "wouldFree") == ids(run, event: "freed"))
            #expect(try copies(folder) == Set(entries.map(\.id)).subtracting(ids(run, event: "freed")))
            #expect(run.summary?["bytes"] as? Int == 3 * 10_240)
            let stays = run.summary?["stays"] as? [String: [String: Int]]
            #expect(
                stays == ["pinned": ["files": 1, "byteCount": 10_240], "fits": ["files": 2, "byteCount": 20_480]])
        }
    }

    @Test("A changed setting of the clean-up decides which copies are freed next")
    func settings() throws {
        try withFolder(files: 2) { folder in
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent("files/kept"), withIntermediateDirectories: true)
            try randomData(10_240).write(to: folder.appendingPathComponent("files/kept/a.png"))
            let entries = try push(folder)
            let kept = try #require(entries.first { $0.path.hasSuffix("kept/a.png") }?.id)
            func set(_ key: String, value: String) throws {
                let run = try UploaderProcess.run(
                    "settings", "set", "--database", "a.sqlite", key, value, in: folder)
                #expect(run.status == 0, "\(run.messages)")
            }
            try set("cleanup.keepsDays", value: "30")
            #expect(try uploader("free", in: folder).status == 0)
            #expect(try copies(folder).count == 3)
            // The option of the command takes precedence.
            try set("cleanup.keepsFolders", value: folder.appendingPathComponent("files/kept").path)
            #expect(try uploader("free", "--older-than", "0s", in: folder).status == 0)
            #expect(try copies(folder) == [kept])
            try set("cleanup.keepsDays", value: "0")
            try set("cleanup.keepsFolders", value: "/other")
            try set("cleanup.keepsContentTypes", value: "image/png")
            #expect(try uploader("free", in: folder).output.contains("1 kept by a rule"))
            #expect(try copies(folder) == [kept])
            try set("cleanup.keepsContentTypes", value: "")
            #expect(try uploader("free", in: folder).status == 0)
            #expect(try copies(folder) == [])
        }
    }

    @Test("A missed goal of free exits with 3, and pull restores the freed files")
    func shortfall() throws {
        try withFolder(files: 3) { folder in
            let entries = try push(folder)
            let database = folder.appendingPathComponent("a.sqlite")
            try TestDatabase.forgetUpload(of: entries[0].id, in: database)
            let run = try uploader("free", "--keep-bytes", "1", in: folder)
            #expect(run.status == 3)
            #expect(run.output.contains("2 files, 20.0 KiB freed, 1 not uploaded (10.0 KiB)"), "\(run.output)")
            #expect(run.messages.contains("The limit is missed by 10.0 KiB: no other local copy may be freed."))
            #expect(try copies(folder) == [entries[0].id])
            let recent = try uploader("free", "--older-than", "1d", in: folder)
            #expect(recent.status == 0)
            let pulled = try UploaderProcess.run(
                "pull", "--database", "a.sqlite", "--to", "dir:remote", "--all", "--output", "out", in: folder)
            #expect(pulled.status == 0, "\(pulled.messages)")
            #expect(
                try system(
                    "diff", "-r", folder.appendingPathComponent("files").path,
                    folder.appendingPathComponent("out/files").path))
        }
    }

    @Test("A push with --free-uploaded keeps no local copy and uploads no file twice")
    func freeUploaded() throws {
        try withFolder(files: 3) { folder in
            let push = ["push", "--copy", "--database", "a.sqlite", "--to", "dir:remote", "--free-uploaded", "files"]
            let first = try UploaderProcess(push, in: folder).wait()
            #expect(first.status == 0, "\(first.messages)")
            #expect(first.output.contains("freed 3 local copies, 30.0 KiB"), "\(first.output)")
            #expect(try copies(folder).isEmpty)
            let again = try UploaderProcess(push + ["--json"], in: folder).wait()
            #expect(again.summary?["attached"] as? Int == 0 && again.summary?["unchanged"] as? Int == 3)
            try randomData(500).write(to: folder.appendingPathComponent("files/1.bin"))
            let changed = try UploaderProcess(push + ["--json"], in: folder).wait()
            #expect(changed.status == 0 && changed.summary?["attached"] as? Int == 1)
            let freed = changed.events.filter { $0["event"] as? String == "freed" }
            #expect(freed.count == 1 && freed.first?["files"] as? Int == 1 && freed.first?["bytes"] as? Int == 500)
            #expect(try copies(folder).isEmpty)
            let pulled = try UploaderProcess.run(
                "pull", "--database", "a.sqlite", "--to", "dir:remote", "--all", "--output", "out", in: folder)
            #expect(pulled.status == 0, "\(pulled.messages)")
            #expect(try system("diff", "-r", folder.path + "/files", folder.path + "/out/files"))
        }
    }

    @Test("A pinned file stays pinned when its new content is pushed")
    func pinnedAnew() throws {
        try withFolder(files: 2) { folder in
            let entries = try push(folder)
            let pinned = try #require(entries.first { $0.path.hasSuffix("0.bin") })
            #expect(try uploader("pin", pinned.id, in: folder).status == 0)
            for name in ["0.bin", "1.bin"] {
                try randomData(700).write(to: folder.appendingPathComponent("files/\(name)"))
            }
            let again = try push(folder)
            let list = try uploader("list", "--pinned", in: folder).output
            #expect(list.split(separator: "\n").count == 1 && list.contains("0.bin"), "\(list)")
            #expect(!list.contains(pinned.id))
            #expect(try uploader("free", in: folder).status == 0)
            #expect(try copies(folder) == Set(again.filter { $0.path.hasSuffix("0.bin") }.map(\.id)))
        }
    }

    @Test("Freeing frees the named files, and reports pinned and unknown ones")
    func named() throws {
        try withFolder(files: 3) { folder in
            let entries = try push(folder)
            #expect(try uploader("pin", entries[1].id, in: folder).status == 0)
            let run = try uploader("free", entries[0].id, entries[1].id, "x", in: folder)
            #expect(run.status == 3)
            #expect(run.messages.contains("\(entries[1].path) is pinned. Run 'uploader unpin' first."))
            #expect(run.messages.contains("x: no file has this id or path"))
            #expect(run.output.contains("freed \(entries[0].id) \(entries[0].path)  10.0 KiB"), "\(run.output)")
            #expect(try copies(folder) == Set(entries.dropFirst().map(\.id)))
            // A file that is not stored locally is not counted as freed, and it is not a failure.
            let again = try uploader("free", entries[0].id, in: folder)
            #expect(again.status == 0 && again.output == "no local copy \(entries[0].id) \(entries[0].path)\n")
            let both = try uploader("free", entries[0].id, entries[2].id, "--json", in: folder)
            #expect(both.summary?["freed"] as? Int == 1 && both.summary?["notHere"] as? Int == 1)
            #expect(both.summary?["bytes"] as? Int == 10_240)
            #expect(try uploader("unpin", entries[1].id, in: folder).status == 0)
            #expect(try uploader("free", in: folder).status == 0)
            #expect(try copies(folder).isEmpty)
            #expect(try uploader("free", entries[0].id, "--dry-run", in: folder).status == 64)
            #expect(try uploader("pin", "x", in: folder).status == 3)
        }
    }

    @Test("Freeing reports that files pushed from their places have no local copy")
    func pushedFromPlace() throws {
        try withFolder(files: 2) { folder in
            let push = ["push", "--database", "a.sqlite", "--to", "dir:remote", "files"]
            try #require(try UploaderProcess(push, in: folder).wait().status == 0)
            let database = folder.appendingPathComponent("a.sqlite")
            let entries = try TestDatabase.entries(in: database)
            try #require(entries.count == 2)
            // The second file is not uploaded, and its original has the only bytes.
            try TestDatabase.forgetUpload(of: entries[1].id, in: database)
            let run = try uploader("free", entries[0].id, entries[1].id, in: folder)
            #expect(run.status == 0 && run.messages.isEmpty, "\(run)")
            for entry in entries { #expect(run.output.contains("no local copy \(entry.id) \(entry.path)\n"), "\(run)") }
            let json = try uploader("free", entries[0].id, entries[1].id, "--json", in: folder)
            #expect(json.summary?["freed"] as? Int == 0 && json.summary?["notHere"] as? Int == 2, "\(json)")
        }
    }

    @Test("Freeing reports a file whose only bytes are lost as a failure")
    func lost() throws {
        try withFolder(files: 2) { folder in
            let push = ["push", "--copy", "--database", "a.sqlite", "--to", "dir:remote", "files"]
            try #require(try UploaderProcess(push, in: folder).wait().status == 0)
            let database = folder.appendingPathComponent("a.sqlite")
            let entries = try TestDatabase.entries(in: database)
            try #require(entries.count == 2)
            for entry in entries { try TestDatabase.forgetUpload(of: entry.id, in: database) }
            try FileManager.default.removeItem(at: folder.appendingPathComponent("a.sqlite.lfs/\(entries[0].id)"))
            let free = ["free", "--database", "a.sqlite"] + entries.map(\.id)
            let run = try UploaderProcess(free, in: folder).wait()
            #expect(run.status == 3 && run.output.isEmpty, "\(run)")
            let reason = "\(entries[0].path): The file was made on this device, but its bytes are gone"
            #expect(run.messages.contains(reason), "\(run)")
            #expect(run.messages.contains("\(entries[1].path): The upload of this file is not confirmed yet"), "\(run)")
        }
    }
}

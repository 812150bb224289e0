import Foundation
import Testing

@Suite("Pushes of lost files", .timeLimit(.minutes(10)))
struct HealTests {
    private func uploader(_ command: String, rest: String..., in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess([command, "--database", "a.sqlite", "--to", "dir:remote"] + rest, in: folder).wait()
    }

    /// Pushes files, frees their local copies, damages their objects, and records the damage with a verification.
    private func lose(_ folder: URL) throws -> [TestDatabase.Entry] {
        #expect(try uploader("push", rest: "--copy", "files", in: folder).status == 0)
        #expect(try UploaderProcess.run("free", "--database", "a.sqlite", in: folder).status == 0)
        let entries = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))
        try FileManager.default.removeItem(at: folder.appendingPathComponent("remote/\(entries[0].key)"))
        try randomData(3).write(to: folder.appendingPathComponent("remote/\(entries[1].key)"))
        // A repair would restore the bytes from the originals.
        let (files, aside) = (folder.appendingPathComponent("files"), folder.appendingPathComponent("aside"))
        try FileManager.default.moveItem(at: files, to: aside)
        #expect(try uploader("verify", rest: "--repair", in: folder).status == 5)
        try FileManager.default.moveItem(at: aside, to: files)
        return entries
    }

    @Test("A push of unchanged originals restores lost files")
    func healed() throws {
        try withFolder(files: 4) { folder in
            let entries = try lose(folder)
            let pushed = try uploader("push", rest: "--copy", "--json", "files", in: folder)
            #expect(pushed.status == 0, "\(pushed.messages)")
            #expect(pushed.summary?["restored"] as? Int == 2)
            #expect(pushed.summary?["attached"] as? Int == 0)
            #expect(pushed.summary?["skipped"] as? Int == 2)
            for entry in entries {
                #expect(
                    try Data(contentsOf: folder.appendingPathComponent("remote/\(entry.key)"))
                        == Data(contentsOf: URL(fileURLWithPath: entry.path)))
            }
            let verified = try uploader("verify", rest: "--json", in: folder)
            #expect(verified.status == 0)
            #expect(verified.summary?["findings"] as? Int == 0)
        }
    }

    @Test("A file without object and copy is reported as failed, and a push restores it")
    func missing() throws {
        try withFolder(files: 2) { folder in
            func run(_ command: String, arguments: String...) throws -> UploaderProcess.Result {
                let storage = ["status", "list"].contains(command) ? [] : ["--to", "dir:remote"]
                return try UploaderProcess([command, "--database", "a.sqlite"] + storage + arguments, in: folder).wait()
            }
            #expect(try run("push", arguments: "--copy", "--free-uploaded", "files").status == 0)
            let id = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))[0].id
            #expect(try RestoreTests.shell("rm remote/*/\(id)", in: folder))
            let verify = try run("verify")
            #expect(verify.status == 5 && verify.output.contains("does not have its object"), "\(verify)")
            #expect(try run("status").output.contains("1 failed"))
            #expect(try run("list", arguments: "--status", "failed").output.hasPrefix("\(id)  failed  "))
            let list = try run("list", arguments: "--sort", "status").output.split(separator: "\n")
            #expect(
                list.count == 2 && list[0].hasPrefix("\(id)  failed  ") && list[1].contains("  remote  "), "\(list)")
            let events = try run("list", arguments: "--json", "--sort", "status").events
            #expect(events.map { $0["status"] as? String } == ["remote", "remote"])
            #expect(events.map { $0["failed"] as? Bool } == [true, nil])
            // A loss counts as known only after a repair.
            let again = try run("verify")
            #expect(again.status == 5 && again.output.contains("does not have its object"), "\(again)")
            let push = try run("push", arguments: "--copy", "files")
            #expect(push.status == 0 && push.output.contains("1 restored"), "\(push)")
            #expect(
                try run("verify", arguments: "--read-data").status == 0 && run("status").output.contains("0 failed"))
        }
    }

    @Test("A repair accepts an object that was missing and is back")
    func back() throws {
        try withFolder(files: 1) { folder in
            func run(_ command: String, arguments: String...) throws -> UploaderProcess.Result {
                try UploaderProcess([command, "--database", "a.sqlite"] + arguments, in: folder).wait()
            }
            #expect(
                try run(
                    "push", arguments: "--copy", "--to", "dir:remote", "--free-uploaded", "files"
                ).status == 0)
            #expect(try RestoreTests.shell("mkdir away; mv remote/*/* away; rm -r files", in: folder))
            let verify = try run("verify", arguments: "--accept-empty")
            #expect(verify.status == 5 && verify.output.contains("1 finding, 1 left"), "\(verify)")
            #expect(try RestoreTests.shell("mv away/* remote/*/", in: folder))
            let again = try run("verify", arguments: "--repair")
            #expect(again.status == 0, "\(again)")
            #expect(try run("status").output.contains("0 failed") && run("verify").status == 0)
        }
    }

    @Test("A changed original of a lost file becomes a new version")
    func otherBytes() throws {
        try withFolder(files: 2) { folder in
            let entries = try lose(folder)
            for entry in entries { try randomData(77).write(to: URL(fileURLWithPath: entry.path)) }
            let pushed = try uploader("push", rest: "--copy", "--json", "files", in: folder)
            #expect(pushed.status == 0, "\(pushed.messages)")
            #expect(pushed.summary?["attached"] as? Int == 2)
            #expect(pushed.summary?["restored"] as? Int == 0)
            #expect(try TestDatabase.count("lfs_file", in: folder.appendingPathComponent("a.sqlite")) == 2)
            #expect(try uploader("verify", in: folder).status == 0)
        }
    }
}

import Foundation
import LFS
import Testing
import UploaderKit

@Suite("Pulling damaged and existing files", .timeLimit(.minutes(10)))
struct PullDamageTests {
    private func uploader(_ command: String, rest: String..., in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess([command, "--database", "a.sqlite", "--to", "dir:remote"] + rest, in: folder).wait()
    }

    private func damage(_ copy: URL, kind: String) throws -> Data {
        var bytes = try Data(contentsOf: copy)
        switch kind {
        case "flipped": bytes[bytes.count / 2] ^= 1
        case "cut": bytes.removeLast(7)
        default: bytes.removeAll()
        }
        try FileManager.default.removeItem(at: copy)
        try bytes.write(to: copy)
        return bytes
    }

    @Test(
        "A pull replaces a damaged local copy and reports it",
        arguments: ["flipped", "cut", "empty"])
    func damaged(_ kind: String) throws {
        try withFolder(files: 3) { folder in
            #expect(try uploader("push", rest: "--copy", "--progress", "none", "files", in: folder).status == 0)
            let entry = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))[1]
            let copy = folder.appendingPathComponent("a.sqlite.lfs/\(entry.id)")
            _ = try damage(copy, kind: kind)
            let pulled = try uploader("pull", rest: "--all", "--output", "out", in: folder)
            #expect(pulled.status == 0, "\(pulled.messages)")
            #expect(pulled.messages.components(separatedBy: " was damaged").count == 2, "\(pulled.messages)")
            #expect(
                try system(
                    "diff", "-r", folder.appendingPathComponent("files").path,
                    folder.appendingPathComponent("out/files").path))
            #expect(try uploader("verify", rest: "--content", in: folder).status == 0)
        }
    }

    @Test("A damaged copy shared by equal files is repaired once")
    func equalFiles() throws {
        try withFolder(files: 1) { folder in
            let files = folder.appendingPathComponent("files")
            let bytes = try Data(contentsOf: files.appendingPathComponent("0.bin"))
            for name in 1...20 { try bytes.write(to: files.appendingPathComponent("\(name).bin")) }
            #expect(try uploader("push", rest: "--copy", "--progress", "none", "files", in: folder).status == 0)
            let id = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))[0].id
            let store = folder.appendingPathComponent("a.sqlite.lfs")
            for kind in ["flipped", "cut"] {
                _ = try damage(store.appendingPathComponent(id), kind: kind)
                let pulled = try uploader("pull", rest: "--all", "--output", kind, in: folder)
                #expect(pulled.status == 0, "\(pulled.messages)")
                #expect(pulled.messages.components(separatedBy: " was damaged").count == 2, "\(pulled.messages)")
                #expect(try system("diff", "-r", files.path, folder.appendingPathComponent("\(kind)/files").path))
                #expect(try FileManager.default.contentsOfDirectory(atPath: store.path + "/quarantine").isEmpty)
            }
        }
    }

    @Test(
        "A damaged copy is kept and not written out if the storage has no good bytes",
        arguments: ["flipped", "cut"])
    func damagedEverywhere(_ kind: String) throws {
        try withFolder(files: 3) { folder in
            #expect(try uploader("push", rest: "--copy", "--progress", "none", "files", in: folder).status == 0)
            let database = folder.appendingPathComponent("a.sqlite")
            let entry = try TestDatabase.entries(in: database)[1]
            let copy = folder.appendingPathComponent("a.sqlite.lfs/\(entry.id)")
            let bytes = try damage(copy, kind: kind)
            let remote = folder.appendingPathComponent("remote")
            let object = try #require(
                try FileManager.default.subpathsOfDirectory(atPath: remote.path).first { $0.hasSuffix(entry.id) })
            try FileManager.default.removeItem(at: remote.appendingPathComponent(object))

            let failed = try uploader("pull", rest: "--all", "--output", "out", "--json", in: folder)
            #expect(failed.status == 3)
            #expect(failed.events.filter { $0["event"] as? String == "failed" }.count == 1)
            #expect(failed.messages.contains("no correct ones were found"), "\(failed.messages)")
            let written = try FileManager.default.contentsOfDirectory(
                atPath: folder.appendingPathComponent("out/files").path)
            #expect(written.count == 2, "\(written)")
            #expect(try Data(contentsOf: copy) == bytes)
        }
    }

    @Test("A document id that is not text does not stop the pull of other files", arguments: ["text", "none"])
    func oddID(_ content: String) throws {
        try withFolder(files: 3) { folder in
            #expect(try uploader("push", rest: "--copy", "--progress", "none", "files", in: folder).status == 0)
            let id = content == "text" ? "CAST(id AS BLOB)" : "X'FF'"
            try TestDatabase.execute(
                "UPDATE uploader_document SET id = \(id) WHERE rowid = 2",
                in: folder.appendingPathComponent("a.sqlite"))
            let pulled = try UploaderProcess(
                ["pull", "--database", "a.sqlite", "--to", "dir:remote", "--all", "--output", "out"], in: folder,
                through: ["/usr/bin/timeout", "600"]
            ).wait()
            #expect(pulled.status == (content == "text" ? 0 : 3), "\(pulled.messages)")
            let written = try FileManager.default.contentsOfDirectory(
                atPath: folder.appendingPathComponent("out/files").path)
            #expect(written.count == (content == "text" ? 3 : 2))
        }
    }

    @Test("A pull skips files that already exist")
    func thereAlready() throws {
        try withFolder(files: 3) { folder in
            #expect(try uploader("push", rest: "--copy", "--progress", "none", "files", in: folder).status == 0)
            #expect(try uploader("pull", rest: "--all", "--output", "out", in: folder).status == 0)
            for name in ["a.sqlite.lfs", "remote"] {
                try FileManager.default.removeItem(at: folder.appendingPathComponent(name))
            }
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent("remote"), withIntermediateDirectories: false)
            let second = try uploader("pull", rest: "--all", "--output", "out", "--json", in: folder)
            #expect(second.status == 0, "\(second.messages)")
            #expect(second.summary?["skipped"] as? Int == 3)
        }
    }

    @Test("A pulled file that is pinned stays pinned without an error")
    func pinned() throws {
        try withFolder(files: 2) { folder in
            #expect(try uploader("push", rest: "--copy", "--progress", "none", "files", in: folder).status == 0)
            let database = folder.appendingPathComponent("a.sqlite")
            let ids = try TestDatabase.entries(in: database).map(\.id)
            #expect(try UploaderProcess.run("free", "--database", "a.sqlite", in: folder).status == 0)
            #expect(try UploaderProcess.run("pin", "--database", "a.sqlite", ids[0], in: folder).status == 0)
            let pulled = try uploader("pull", rest: "--all", "--output", "out", in: folder)
            #expect(pulled.status == 0, "\(pulled.messages)")
            #expect(FileManager.default.fileExists(atPath: "\(database.path).lfs/\(ids[0])"))
            #expect(!FileManager.default.fileExists(atPath: "\(database.path).lfs/\(ids[1])"))
        }
    }

    @Test("A pull removes the part that a killed pull has left, and no other file")
    func leftPart() throws {
        try withFolder(files: 3) { folder in
            #expect(try uploader("push", rest: "--copy", "--progress", "none", "files", in: folder).status == 0)
            #expect(try uploader("pull", rest: "--all", "--output", "out", in: folder).status == 0)
            let entries = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))
            let out = folder.appendingPathComponent("out/files")
            // Between link and unlink, the file has both names.
            let name = (entries[0].path as NSString).lastPathComponent
            let part = out.appendingPathComponent(
                PartName.of(Array(name.utf8), id: try #require(FileID(entries[0].id))))
            let foreign = out.appendingPathComponent(".x.part")
            try FileManager.default.linkItem(at: out.appendingPathComponent(name), to: part)
            try randomData(5).write(to: foreign)
            #expect(try uploader("pull", rest: "--all", "--output", "out", in: folder).status == 0)
            #expect(!FileManager.default.fileExists(atPath: part.path))
            #expect(FileManager.default.fileExists(atPath: foreign.path))
            #expect(try FileManager.default.contentsOfDirectory(atPath: out.path).count == 4)
        }
    }

    @Test("A full disk and an invalid output folder are reported plainly", .enabled(if: isRoot, "needs root to mount"))
    func impossibleOutput() throws {
        try withFolder(files: 3, byteCount: 200_000) { folder in
            #expect(try uploader("push", rest: "--copy", "--progress", "none", "files", in: folder).status == 0)
            try Data().write(to: folder.appendingPathComponent("taken"))
            for output in ["taken", "taken/below"] {
                let run = try uploader("pull", rest: "--all", "--output", output, in: folder)
                #expect(run.status == 1)
                #expect(run.messages.contains("/taken must be a folder, and is not one."), "\(run.messages)")
            }
            try withMount(folder, options: "size=256k") { mount in
                let run = try uploader("pull", rest: "--all", "--output", mount.path + "/out", in: folder)
                #expect(run.status == 3)
                #expect(run.messages.contains("the disk is full"), "\(run.messages)")
                #expect(!run.messages.contains("NSCocoa") && !run.messages.contains("Error Domain"))
                let left = try FileManager.default.contentsOfDirectory(atPath: mount.path + "/out/files")
                #expect(left.allSatisfy { !$0.hasSuffix(".part") })
            }
        }
    }
}

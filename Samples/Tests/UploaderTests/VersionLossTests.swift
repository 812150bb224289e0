import Foundation
import Testing

@Suite("Old versions that may be the last", .timeLimit(.minutes(10)))
struct VersionLossTests {
    private func object(_ key: String, in files: VersionedFiles, _ storage: String = "remote") -> URL {
        files.folder.appendingPathComponent("\(storage)/\(key)")
    }

    private func isThere(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: url.path) }

    /// The key of the file `a` as it is now.
    private func key(_ files: VersionedFiles) throws -> String {
        try #require(TestDatabase.entries(in: files.database).first).key
    }

    @Test("stay while the new one is known to be lost, whatever is chosen")
    func lost() throws {
        try withVersionedFiles { files in
            try files.push(["one"], "--keep-versions", "30d")
            let old = object(try key(files), in: files)
            try files.push(["two"])
            try files.run("free")
            try FileManager.default.removeItem(at: object(try key(files), in: files))
            try FileManager.default.removeItem(at: files.folder.appendingPathComponent("files/a"))
            try files.run("verify", "--repair", exit: 5)
            try files.write("other", to: "b")
            try files.run("push", "--keep-versions", "none", "files", exit: 3)
            #expect(isThere(old))
            #expect(try files.old().count == 1)
        }
    }

    @Test("stay until the new one is there again, when it was found missing")
    func missing() throws {
        try withVersionedFiles { files in
            try files.push(["one"], "--keep-versions", "30d")
            let old = object(try key(files), in: files)
            try files.push(["two"])
            let new = object(try key(files), in: files)
            try FileManager.default.removeItem(at: new)
            try files.run("verify", exit: 5)
            // Nothing can be written there: the upload fails.
            let folder = new.deletingLastPathComponent().path
            #expect(try system("chattr", "+i", folder))
            defer { #expect(throws: Never.self) { try system("chattr", "-i", folder) } }
            try files.run("push", "--keep-versions", "none", "--give-up-after", "1s", "files", exit: 3)
            #expect(isThere(old))
            #expect(try system("chattr", "-i", folder))
            try files.run("resume")
            #expect(isThere(new) && !isThere(old))
        }
    }

    @Test("stay while nobody knows what another storage has, and nothing there stands for new bytes")
    func otherStorage() throws {
        try withVersionedFiles { files in
            try files.push(["one"], "--keep-versions", "30d")
            let old = try key(files)
            try files.push(["two"])
            let new = try key(files)
            #expect(try system("cp", "-r", files.folder.path + "/remote", files.folder.path + "/other"))
            try FileManager.default.removeItem(at: object(new, in: files, "other"))
            try files.write("one", to: "b")
            let change = ["push", "--database", "a.sqlite", "--to", "dir:other", "--change-storage"]
            let push = try UploaderProcess(change + ["--keep-versions", "none", "files"], in: files.folder).wait()
            #expect(push.status == 0, "\(push.messages)")
            #expect(isThere(object(old, in: files, "other")))
            // It has the bytes of the old version, and does not count on them.
            #expect(push.output.contains("1 attached, 1 uploaded"), "\(push.output)")
            let verify = ["verify", "--database", "a.sqlite", "--repair"]
            #expect(try UploaderProcess(verify, in: files.folder).wait().status == 0)
            let again = try UploaderProcess(["push", "--database", "a.sqlite", "files"], in: files.folder).wait()
            #expect(again.status == 0, "\(again.messages)")
            #expect(isThere(object(new, in: files, "other")) && !isThere(object(old, in: files, "other")))
        }
    }

    @Test("are kept when their object was found damaged and the right bytes are here")
    func damaged() throws {
        try withVersionedFiles { files in
            try files.push(["one"], "--keep-versions", "30d")
            try Data("eno".utf8).write(to: object(try key(files), in: files))
            try files.run("verify", "--read-data", exit: 5)
            try files.write("two")
            _ = try UploaderProcess(
                ["push", "--database", "a.sqlite", "--to", "dir:remote", "files"], in: files.folder
            ).wait()
            let old = try #require(files.old().first)
            try files.run("verify", "--read-data", "--repair")
            try files.run("verify", "--read-data")
            try files.run("pull", old, "--output", "out")
            #expect(files.read("out/files/a") == "one")
        }
    }

    @Test("A verification of a storage that is not remembered says nothing of the one that is")
    func verifiedOther() throws {
        try withVersionedFiles { files in
            for number in 0..<8 { try files.write("\(number)", to: "\(number)") }
            try files.push()
            // The first and the last two are looked for.
            let keys = try TestDatabase.keys(in: files.database)
            #expect(try system("cp", "-r", files.folder.path + "/remote", files.folder.path + "/other"))
            #expect(try system("cp", "-r", files.folder.path + "/remote", files.folder.path + "/third"))
            for key in keys.prefix(2) + keys.suffix(2) {
                try FileManager.default.removeItem(at: object(key, in: files, "third"))
            }
            let change = ["--database", "a.sqlite", "--change-storage", "--to"]
            #expect(
                try UploaderProcess(["push"] + change + ["dir:other", "files"], in: files.folder).wait().status == 0)
            let wrong = try UploaderProcess(["verify"] + change + ["dir:third"], in: files.folder).wait()
            #expect(wrong.status == 1 && wrong.messages.contains("4 were looked for"), "\(wrong.messages)")
            let free = try UploaderProcess(["free", "--database", "a.sqlite"], in: files.folder).wait()
            #expect(free.status == 1 && free.messages.contains("Run 'verify' first"), "\(free.messages)")
            let right = try UploaderProcess(["verify", "--database", "a.sqlite"], in: files.folder).wait()
            #expect(right.status == 0, "\(right.output)")
            #expect(try UploaderProcess(["free", "--database", "a.sqlite"], in: files.folder).wait().status == 0)
        }
    }
}

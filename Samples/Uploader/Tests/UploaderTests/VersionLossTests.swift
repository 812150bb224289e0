import Foundation
import Testing

@Suite("Old versions of lost files", .timeLimit(.minutes(10)))
struct VersionLossTests {
    private func object(_ key: String, in files: VersionedFiles, storage: String = "remote") -> URL {
        files.folder.appendingPathComponent("\(storage)/\(key)")
    }

    private func isThere(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: url.path) }

    /// Returns the key of the current file `a`.
    private func key(_ files: VersionedFiles) throws -> String {
        try #require(TestDatabase.entries(in: files.database).first).key
    }

    @Test("Old versions are kept while the current one is known to be lost")
    func lost() throws {
        try withVersionedFiles { files in
            try files.push(["one"], words: "--keep-versions", "30d")
            let old = object(try key(files), in: files)
            try files.push(["two"])
            try files.run("free")
            try FileManager.default.removeItem(at: object(try key(files), in: files))
            try FileManager.default.removeItem(at: files.folder.appendingPathComponent("files/a"))
            try files.run("verify", words: "--repair", exit: 5)
            try files.write("other", to: "b")
            try files.run("push", words: "--keep-versions", "none", "files", exit: 3)
            #expect(isThere(old))
            #expect(try files.old().count == 1)
        }
    }

    @Test("A lost old version is named as such with what to do until it is removed")
    func lostVersion() throws {
        try withVersionedFiles { files in
            try files.push(["one"], words: "--keep-versions", "30d")
            let old = object(try key(files), in: files)
            try files.push(["two"])
            let id = try #require(files.old().first)
            try files.run("free")
            try FileManager.default.removeItem(at: old)
            try files.run("verify", words: "--repair", exit: 5)
            let push = try files.run("push", words: "files", exit: 3)
            #expect(push.messages.contains("It is an old version, replaced 20"), "\(push.messages)")
            #expect(push.messages.contains("'uploader remove' and its id \(id)"), "\(push.messages)")
            #expect(try files.run("status").output.contains("It is an old version, replaced 20"))
            let list = try files.run("list", words: "--status", "failed")
            #expect(list.output.hasPrefix("\(id)  failed"), "\(list.output)")
            try files.run("remove", words: id)
            #expect(try files.run("list", words: "--status", "failed").output.isEmpty)
        }
    }

    @Test("Old versions are kept until a missing current one is uploaded again")
    func missing() throws {
        try withVersionedFiles { files in
            try files.push(["one"], words: "--keep-versions", "30d")
            let old = object(try key(files), in: files)
            try files.push(["two"])
            let new = object(try key(files), in: files)
            try FileManager.default.removeItem(at: new)
            try files.run("verify", exit: 5)
            // The folder is immutable, so the upload fails.
            let folder = new.deletingLastPathComponent().path
            #expect(try system("chattr", "+i", folder))
            defer { #expect(throws: Never.self) { try system("chattr", "-i", folder) } }
            try files.run("push", words: "--keep-versions", "none", "--give-up-after", "15s", "files", exit: 3)
            #expect(isThere(old))
            #expect(try system("chattr", "-i", folder))
            try files.run("resume")
            #expect(isThere(new) && !isThere(old))
        }
    }

    @Test("Old versions are kept on a new storage until it is verified")
    func otherStorage() throws {
        try withVersionedFiles { files in
            try files.push(["one"], words: "--keep-versions", "30d")
            let old = try key(files)
            try files.push(["two"])
            let new = try key(files)
            #expect(try system("cp", "-r", files.folder.path + "/remote", files.folder.path + "/other"))
            try FileManager.default.removeItem(at: object(new, in: files, storage: "other"))
            try files.write("one", to: "b")
            let change = ["push", "--database", "a.sqlite", "--to", "dir:other", "--change-storage"]
            let push = try UploaderProcess(change + ["--keep-versions", "none", "files"], in: files.folder).wait()
            #expect(push.status == 0, "\(push.messages)")
            #expect(isThere(object(old, in: files, storage: "other")))
            // The storage has the bytes of the old version, but the push does not rely on them.
            #expect(push.output.contains("1 attached, 1 uploaded"), "\(push.output)")
            let verify = ["verify", "--database", "a.sqlite", "--repair"]
            #expect(try UploaderProcess(verify, in: files.folder).wait().status == 0)
            let again = try UploaderProcess(["push", "--database", "a.sqlite", "files"], in: files.folder).wait()
            #expect(again.status == 0, "\(again.messages)")
            #expect(
                isThere(object(new, in: files, storage: "other")) && !isThere(object(old, in: files, storage: "other")))
        }
    }

    @Test("A damaged old version is repaired from the local copy")
    func damaged() throws {
        try withVersionedFiles { files in
            try files.push(["one"], words: "--keep-versions", "30d")
            try Data("eno".utf8).write(to: object(try key(files), in: files))
            try files.run("verify", words: "--read-data", exit: 5)
            try files.write("two")
            _ = try UploaderProcess(
                ["push", "--copy", "--database", "a.sqlite", "--to", "dir:remote", "files"], in: files.folder
            ).wait()
            let old = try #require(files.old().first)
            try files.run("verify", words: "--read-data", "--repair")
            try files.run("verify", words: "--read-data")
            try files.run("pull", words: old, "--output", "out")
            #expect(files.read("out/files/a") == "one")
        }
    }

    @Test("A lost file that is attached again keeps the time of its bytes")
    func attachedAgain() throws {
        try withVersionedFiles { files in
            try files.write("other", to: "b")
            try files.push(["one"], words: "--keep-versions", "1d")
            try files.sql("UPDATE uploader_document SET addedAt = '2026-03-01 12:00:00.500'")
            try files.run("free")
            let entries = try TestDatabase.entries(in: files.database)
            let lost = try #require(entries.first { $0.path.hasSuffix("/a") })
            try Data("eno, longer".utf8).write(to: object(lost.key, in: files))
            // A repair would restore the bytes from the original.
            #expect(try RestoreTests.shell("mv files aside", in: files.folder))
            try files.run("verify", words: "--repair", exit: 5)
            #expect(try RestoreTests.shell("mv aside files; touch files/a", in: files.folder))
            #expect(try files.push()["attached"] as? Int == 1)
            let now = try TestDatabase.entries(in: files.database)
            #expect(!now.contains { $0.id == lost.id })
            try files.run("pull", words: "files/a", "--as-of", "2026-03-05", "--output", "out")
            #expect(files.read("out/files/a") == "one")
        }
    }

    @Test("The verification of another storage does not count for the remembered one")
    func verifiedOther() throws {
        try withVersionedFiles { files in
            for number in 0..<8 { try files.write("\(number)", to: "\(number)") }
            try files.push()
            // The verification samples the first and the last two keys.
            let keys = try TestDatabase.keys(in: files.database)
            #expect(try system("cp", "-r", files.folder.path + "/remote", files.folder.path + "/other"))
            #expect(try system("cp", "-r", files.folder.path + "/remote", files.folder.path + "/third"))
            for key in keys.prefix(2) + keys.suffix(2) {
                try FileManager.default.removeItem(at: object(key, in: files, storage: "third"))
            }
            let change = ["--database", "a.sqlite", "--change-storage", "--to"]
            #expect(
                try UploaderProcess(["push"] + change + ["dir:other", "files"], in: files.folder).wait().status == 0)
            let wrong = try UploaderProcess(["verify"] + change + ["dir:third"], in: files.folder).wait()
            #expect(wrong.status == 1 && wrong.messages.contains("None of the 4 files"), "\(wrong.messages)")
            let free = try UploaderProcess(["free", "--database", "a.sqlite"], in: files.folder).wait()
            #expect(free.status == 1 && free.messages.contains("Run 'verify' first"), "\(free.messages)")
            let right = try UploaderProcess(["verify", "--database", "a.sqlite"], in: files.folder).wait()
            #expect(right.status == 0, "\(right.output)")
            #expect(try UploaderProcess(["free", "--database", "a.sqlite"], in: files.folder).wait().status == 0)
        }
    }
}

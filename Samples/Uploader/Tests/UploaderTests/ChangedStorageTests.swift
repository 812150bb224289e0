import Foundation
import Testing

@Suite("Changes of the storage", .timeLimit(.minutes(10)))
struct ChangedStorageTests {
    private func uploader(_ words: String..., in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess([words[0], "--database", "a.sqlite"] + words.dropFirst(), in: folder).wait()
    }

    private func withPushed(_ body: (URL) throws -> Void) throws {
        try withFolder(files: 3) { folder in
            #expect(try uploader("push", "--copy", "--to", "dir:first", "files", in: folder).status == 0)
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent("other"), withIntermediateDirectories: false)
            try body(folder)
        }
    }

    private func copies(in folder: URL) throws -> Int {
        try uploader("list", "--here", in: folder).output.split(separator: "\n").count
    }

    private func objects(_ storage: String, in folder: URL) throws -> Int {
        let url = folder.appendingPathComponent(storage)
        return try FileManager.default.subpathsOfDirectory(atPath: url.path).filter { path in
            try url.appendingPathComponent(path).resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true
        }.count
    }

    @Test(
        "After a change of storage, local copies are kept until a verification",
        arguments: [["push"], ["push", "--free-uploaded"], ["push", "--move"]])
    func keeps(words: [String]) throws {
        try withPushed { folder in
            let change = ["--database", "a.sqlite", "--to", "dir:other", "--change-storage", "files"]
            let push = try UploaderProcess(words + change, in: folder).wait()
            #expect(push.status == 3)
            #expect(push.messages.contains("files that were looked for is on dir:"), "\(push.messages)")
            for words in [["free"], ["free", "files/0.bin"], ["free", "--older-than", "0"]] {
                let free = try UploaderProcess([words[0], "--database", "a.sqlite"] + words.dropFirst(), in: folder)
                    .wait()
                #expect(free.status == 1, "\(words)")
                #expect(free.messages.contains("Run 'verify' first"), "\(free.messages)")
            }
            #expect(try copies(in: folder) == 3)
            #expect(try uploader("status", in: folder).output.contains("the storage was changed"))
            for name in 0..<3 {
                #expect(FileManager.default.fileExists(atPath: folder.appendingPathComponent("files/\(name).bin").path))
            }

            let verify = try uploader("verify", "--accept-empty", in: folder)
            #expect(verify.status == 5 && verify.output.contains("3 files, 3 local copies"), "\(verify.output)")
            // All of them are known to be missing now.
            let free = try uploader("free", in: folder)
            #expect(free.output.contains("0 files"), "\(free.output)\(free.messages)")
            #expect(try !uploader("status", in: folder).output.contains("storage was changed"))
            let mended = try uploader("verify", "--repair", "--accept-empty", in: folder)
            #expect(mended.status == 0, "\(mended.output)")
            #expect(try objects("other", in: folder) == objects("first", in: folder))
            #expect(try uploader("verify", in: folder).status == 0)
            #expect(try uploader("free", in: folder).status == 0)
            #expect(try copies(in: folder) == 0)
            #expect(try uploader("pull", "--all", "--output", "out", in: folder).status == 0)
        }
    }

    @Test("Every push after a change of storage reminds the user to verify it")
    func later() throws {
        try withPushed { folder in
            try Data("new".utf8).write(to: folder.appendingPathComponent("files/new"))
            let first = try uploader("push", "--to", "dir:other", "--change-storage", "files", in: folder)
            #expect(first.status == 3 && !first.messages.contains("was not verified since"), "\(first.messages)")
            for _ in 1...2 {
                let later = try uploader("push", "files", in: folder)
                #expect(later.status == 0)
                let words = "was not verified since: it may lack earlier files"
                #expect(later.messages.components(separatedBy: words).count == 2, "\(later.messages)")
            }
            #expect(try uploader("verify", "--repair", in: folder).status == 0)
            let last = try uploader("push", "files", in: folder)
            #expect(last.status == 0 && !last.messages.contains("was not verified"), "\(last.messages)")
            #expect(try objects("other", in: folder) == objects("first", in: folder) + 1)
        }
    }

    @Test("A failed command does not remember an unverified storage")
    func notRemembered() throws {
        try withPushed { folder in
            let before = try uploader("status", in: folder).output
            for words in [["verify"], ["pull", "--all", "--output", "out"]] {
                let run = try UploaderProcess(
                    [words[0], "--database", "a.sqlite", "--to", "dir:other", "--change-storage"] + words.dropFirst(),
                    in: folder
                ).wait()
                #expect(run.status == 1, "\(words): \(run.messages)")
                #expect(try uploader("status", in: folder).output == before, "\(words)")
            }
            #expect(try uploader("free", in: folder).status == 0)
            #expect(try uploader("pull", "--all", "--output", "out", in: folder).status == 0)
        }
    }

    @Test("A storage to which all objects were moved is trusted once it is verified")
    func moved() throws {
        try withPushed { folder in
            try FileManager.default.removeItem(at: folder.appendingPathComponent("other"))
            try FileManager.default.moveItem(
                at: folder.appendingPathComponent("first"), to: folder.appendingPathComponent("other"))
            #expect(try uploader("push", "--to", "dir:other", "--change-storage", "files", in: folder).status == 0)
            #expect(try uploader("free", in: folder).status == 1)
            #expect(try uploader("verify", in: folder).status == 0)
            #expect(try uploader("free", in: folder).status == 0)
        }
    }

    @Test("A copy of the database on the previous storage does not count for the new one")
    func savedOnPrevious() throws {
        try withPushed { folder in
            #expect(try uploader("push", "--save-database", "files", in: folder).status == 0)
            let words = "the database was saved there"
            #expect(try uploader("status", in: folder).output.contains(words))
            let change = ["--to", "dir:other", "--change-storage", "--no-save-database", "files"]
            let push = try UploaderProcess(["push", "--database", "a.sqlite"] + change, in: folder).wait()
            #expect(push.status == 3, "\(push.messages)")
            let status = try uploader("status", in: folder)
            #expect(status.output.contains("on dir:") && !status.output.contains(words), "\(status.output)")
        }
    }

    @Test("A copy that ends after a change of the storage does not count for the new one")
    func savedLate() throws {
        try withPushed { folder in
            #expect(try system("cp", "-a", folder.path + "/first/.", folder.path + "/other"))
            let database = folder.appendingPathComponent("a.sqlite")
            // Another process would do the same if it changed the storage after the copy was started.
            try TestDatabase.execute(
                """
                CREATE TRIGGER other AFTER UPDATE OF startedCopy ON uploader_storage WHEN NEW.startedCopy IS NOT NULL
                BEGIN UPDATE uploader_storage SET location = replace(location, '/first', '/other'); END
                """, in: database)
            let save = ["push", "--database", "a.sqlite", "--to", "dir:first", "--save-database", "files"]
            let first = try UploaderProcess(save, in: folder).wait()
            #expect(first.status == 0, "\(first.messages)")
            try TestDatabase.execute("DROP TRIGGER other", in: database)
            #expect(try TestDatabase.count("uploader_storage WHERE location LIKE '%/other'", in: database) == 1)
            #expect(try !uploader("status", in: folder).output.contains("the database was saved there"))
            let next = try uploader("push", "--to", "dir:other", "files", in: folder)
            #expect(next.status == 0, "\(next.messages)")
            let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path + "/other")
            #expect(paths.filter { $0.hasSuffix(".gz") }.count == 1)
        }
    }

    @Test("Reads on the previous storage do not count for the new one")
    func readOnPrevious() throws {
        try withPushed { folder in
            #expect(try system("cp", "-a", folder.path + "/first/.", folder.path + "/other"))
            #expect(try uploader("verify", "--read-data", in: folder).status == 0)
            #expect(try uploader("push", "--to", "dir:other", "--change-storage", "files", in: folder).status == 0)
            let verify = try uploader("verify", "--read-data=1K", "--json", in: folder)
            #expect(verify.status == 0, "\(verify.messages)")
            #expect(verify.summary?["objectsRead"] as? Int == 1 && verify.summary?["neverRead"] as? Int == 2)
        }
    }

    @Test("A local verification does not access the storage")
    func localOnly() throws {
        try withPushed { folder in
            try FileManager.default.removeItem(at: folder.appendingPathComponent("first"))
            let verify = try uploader("verify", "--local-only", "--content", in: folder)
            #expect(verify.status == 0 && verify.output.contains("3 files, 3 local copies"), "\(verify.messages)")
            #expect(try uploader("verify", "--local-only", "--repair", in: folder).status == 1)
        }
    }
}

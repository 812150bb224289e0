import Foundation
import Testing

@Suite("The remembered storage", .timeLimit(.minutes(10)))
struct RememberedStorageTests {
    private func uploader(_ words: String..., in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess([words[0], "--database", "a.sqlite"] + words.dropFirst(), in: folder).wait()
    }

    @Test("Every command uses the remembered storage, from any folder")
    func remembered() throws {
        try withFolder(files: 2) { folder in
            #expect(try uploader("push", "--to", "dir:remote", "files", in: folder).status == 0)
            try randomData(100).write(to: folder.appendingPathComponent("files/new"))
            for words in [
                ["push", "--dry-run", "files"], ["push", "files"], ["resume"], ["verify"],
                ["pull", "--all", "--output", "out"], ["remove", "files/new"], ["backup", "--groups", "include:files"],
            ] {
                let run = try UploaderProcess(
                    [words[0], "--database", "a.sqlite"] + words.dropFirst(), in: folder
                ).wait()
                #expect(run.status == 0, "\(words): \(run.messages)")
            }
            let elsewhere = folder.appendingPathComponent("files")
            let run = try UploaderProcess.run("verify", "--database", "../a.sqlite", in: elsewhere)
            #expect(run.status == 0 && run.output.contains("2 objects,"), "\(run.output)\(run.messages)")
            #expect(!FileManager.default.fileExists(atPath: elsewhere.appendingPathComponent("remote").path))
        }
    }

    @Test("A first push without --to is a usage error and creates nothing")
    func first() throws {
        try withFolder(files: 1) { folder in
            for words in [
                ["push", "files"], ["push", "--dry-run", "files"], ["backup", "--groups", "include:files"],
            ] {
                let run = try UploaderProcess([words[0], "--database", "a.sqlite"] + words.dropFirst(), in: folder)
                    .wait()
                #expect(run.status == 64)
                #expect(
                    run.messages.contains("Give the storage with --to, such as --to dir:/mnt/backup"), "\(run.messages)"
                )
            }
            #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("a.sqlite").path))
            let change = try uploader("push", "--change-storage", "files", in: folder)
            #expect(change.status == 64 && change.messages.contains("--change-storage needs --to"))
        }
    }

    @Test("A database of an earlier version finds its storage folder")
    func earlier() throws {
        try withFolder(files: 2) { folder in
            #expect(try uploader("push", "--to", "dir:remote", "files", in: folder).status == 0)
            try TestDatabase.execute(
                "UPDATE uploader_storage SET argument = NULL", in: folder.appendingPathComponent("a.sqlite"))
            #expect(try uploader("verify", in: folder).status == 0)
            // The stored location of a bucket is not enough to find it again.
            try TestDatabase.execute(
                "UPDATE uploader_storage SET location = 's3://host/bucket'",
                in: folder.appendingPathComponent("a.sqlite"))
            let run = try uploader("verify", in: folder)
            #expect(run.status == 64 && run.messages.contains("Give the storage with --to"), "\(run.messages)")
        }
    }

    @Test("A storage that was moved, or is changed by the environment, is reported")
    func elsewhere() throws {
        try withFolder(files: 1) { folder in
            #expect(try uploader("push", "--to", "dir:remote", "files", in: folder).status == 0)
            let remote = folder.appendingPathComponent("remote")
            try FileManager.default.moveItem(at: remote, to: folder.appendingPathComponent("moved"))
            let away = try uploader("verify", in: folder)
            #expect(
                away.status == 1 && away.messages.contains("If it is elsewhere now, give --to."), "\(away.messages)")
            #expect(try uploader("verify", "--to", "dir:moved", "--change-storage", in: folder).status == 0)
            #expect(try uploader("verify", in: folder).status == 0)
            try TestDatabase.execute(
                "UPDATE uploader_storage SET argument = 's3://bucket/p'", in: folder.appendingPathComponent("a.sqlite"))
            let other = try uploader("verify", in: folder)
            #expect(
                other.status == 1 && other.messages.contains("Give --to with all its settings"), "\(other.messages)")
        }
    }

    @Test("An option that does not apply to the remembered storage is refused")
    func unsuitable() throws {
        try withFolder(files: 1) { folder in
            #expect(try uploader("push", "--to", "dir:remote", "files", in: folder).status == 0)
            let run = try uploader("resume", "--part-size", "16MiB", in: folder)
            #expect(run.status == 64 && run.messages.contains("--part-size is for s3:// and azure:// only."))
        }
    }

    @Test("A recovered database remembers the storage that it came from")
    func recovered() throws {
        try withFolder(files: 2) { folder in
            #expect(try uploader("push", "--to", "dir:remote", "--save-database", "files", in: folder).status == 0)
            try FileManager.default.moveItem(
                at: folder.appendingPathComponent("remote"), to: folder.appendingPathComponent("moved"))
            let recover = try UploaderProcess.run(
                "recover", "--unauthenticated", "--from", "dir:moved", "--database", "b.sqlite", in: folder)
            #expect(recover.status == 0, "\(recover)")
            let run = try UploaderProcess.run("verify", "--database", "b.sqlite", in: folder)
            #expect(run.status == 0, "\(run.messages)")
        }
    }
}

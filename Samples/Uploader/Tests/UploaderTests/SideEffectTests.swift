import Foundation
import Testing

@Suite("Side effects of failed commands", .timeLimit(.minutes(10)))
struct SideEffectTests {
    private func uploader(
        _ words: String..., in folder: URL, environment: [String: String] = [:]
    ) throws -> UploaderProcess.Result {
        try UploaderProcess(
            [words[0], "--database", "a.sqlite", "--to", "dir:remote"] + words.dropFirst(), in: folder,
            environment: environment
        ).wait()
    }

    /// Returns the contents of the folder without the files and without the test's own output.
    private func made(in folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0 != "files" && !$0.hasPrefix(".") }.sorted()
    }

    @Test("A first push of a missing folder creates neither database nor storage")
    func missingFolder() throws {
        try withFolder { folder in
            let result = try uploader("push", "tyfolder", in: folder)
            #expect(result.status == 3 && result.messages.contains("tyfolder"), "\(result)")
            #expect(try made(in: folder) == [])
            let backup = try uploader("backup", "--groups", "include:tyfolder", in: folder)
            #expect(backup.status == 3 && backup.messages.contains("tyfolder"), "\(backup)")
            #expect(try uploader("backup", in: folder).status == 1)
            #expect(try made(in: folder) == [])
        }
    }

    @Test("A sync without a token does not share the database")
    func missingToken() throws {
        try withFolder(files: 1) { folder in
            let first = try uploader(
                "push", "--sync", "http://127.0.0.1:1", "files", in: folder, environment: ["LFS_SYNC_TOKEN": ""])
            #expect(first.status == 1 && first.messages.contains("LFS_SYNC_TOKEN is not set"), "\(first)")
            #expect(try made(in: folder) == [])
            #expect(try uploader("push", "files", in: folder).status == 0)
            let sync = try uploader(
                "sync", "--sync", "http://127.0.0.1:1", in: folder, environment: ["LFS_SYNC_TOKEN": ""])
            #expect(sync.status == 1, "\(sync)")
            let status = try UploaderProcess.run("status", "--database", "a.sqlite", in: folder)
            #expect(!status.output.contains("shared:"), "\(status)")
        }
    }

    @Test("A removal that waits for the sync server is reported by every command")
    func heldDeletion() throws {
        try withFolder(files: 1) { folder in
            #expect(try uploader("push", "files", in: folder).status == 0)
            // The server is unreachable. From now on it must accept removals.
            let sync = try uploader(
                "sync", "--sync", "http://127.0.0.1:1", "--give-up-after", "1s", in: folder,
                environment: ["LFS_SYNC_TOKEN": "token"])
            #expect(sync.status != 0, "\(sync)")
            let words = "1 removed file keeps its bytes on the storage until the sync server has accepted the removal"
            let removed = try uploader("remove", "files", in: folder)
            #expect(removed.status == 0 && removed.messages.contains(words), "\(removed)")
            let resume = try uploader("resume", in: folder)
            #expect(resume.status == 0 && resume.messages.contains(words), "\(resume)")
            #expect(!resume.output.contains("carried out"), "\(resume)")
            let status = try UploaderProcess.run("status", "--database", "a.sqlite", in: folder)
            #expect(status.output.contains("until the sync server accepts the removal: run 'sync'"), "\(status)")
            #expect(!status.output.contains("'resume' deletes"), "\(status)")
            let figures = try UploaderProcess.run("status", "--database", "a.sqlite", "--json", in: folder)
            #expect(figures.events.first?["waitingDeletions"] as? Int == 0)
            #expect(figures.events.first?["heldDeletions"] as? Int == 1)
            let verify = try uploader("verify", in: folder)
            #expect(!verify.output.contains("waiting for 'resume'"), "\(verify)")
        }
    }

    @Test("The reminder to save the database names a valid option, and is shown once a week")
    func reminder() throws {
        try withFolder(files: 1) { folder in
            let push = try uploader("push", "files", in: folder)
            #expect(push.status == 0 && push.output.contains("reminder"), "\(push)")
            #expect(!(try uploader("resume", in: folder).output.contains("reminder")))
            try TestDatabase.execute(
                "UPDATE uploader_storage SET remindedAt = remindedAt - 604800",
                in: folder.appendingPathComponent("a.sqlite"))
            let resume = try uploader("resume", in: folder)
            #expect(resume.output.contains("'push --no-save-database' ends this reminder"), "\(resume)")
            #expect(try uploader("push", "--no-save-database", "files", in: folder).status == 0)
            #expect(!(try uploader("resume", in: folder).output.contains("reminder")))
        }
    }
}

import Foundation
import Testing

@Suite(
    "Read-only storage", .timeLimit(.minutes(10)),
    .enabled(if: isRoot, "needs root to mount"))
struct ReadOnlyStorageTests {
    /// Mounts the storage read-only in a shell with its own mount namespace.
    private func uploader(_ arguments: String..., in folder: URL) throws -> UploaderProcess.Result {
        let script = """
            set -e; mount --bind remote remote; mount -o remount,bind,ro remote; exec "$0" "$@"
            """
        let shell = ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", script]
        return try UploaderProcess(arguments, in: folder, through: shell).wait()
    }

    @Test("A read-only storage can be pulled, verified and recovered from")
    func reading() throws {
        try withFolder(files: 3) { folder in
            let push = try UploaderProcess.run(
                "push", "--database", "a.sqlite", "--to", "dir:remote", "--save-database", "--free-uploaded", "files",
                in: folder)
            #expect(push.status == 0, "\(push.messages)")
            let before = try FileManager.default.subpathsOfDirectory(atPath: folder.path + "/remote")
            let pull = try uploader("pull", "--database", "a.sqlite", "--all", "--output", "out", in: folder)
            #expect(pull.status == 0, "\(pull)")
            #expect(try RestoreTests.difference("files", other: "out/files", in: folder) == "")
            let verify = try uploader("verify", "--database", "a.sqlite", "--read-data", in: folder)
            #expect(verify.status == 0, "\(verify)")
            let recover = try uploader(
                "recover", "--unauthenticated", "--from", "dir:remote", "--database", "b.sqlite", in: folder)
            #expect(recover.status == 0 && recover.output.hasPrefix("b.sqlite: 3 files"), "\(recover)")
            #expect(try FileManager.default.subpathsOfDirectory(atPath: folder.path + "/remote") == before)
        }
    }

    @Test("Commands that write to a read-only storage fail with the reason")
    func writing() throws {
        try withFolder(files: 1) { folder in
            let push = try UploaderProcess.run(
                "push", "--database", "a.sqlite", "--to", "dir:remote", "files", in: folder)
            #expect(push.status == 0, "\(push.messages)")
            for arguments in [["push", "files"], ["verify", "--repair"], ["remove", "files"]] {
                let run = try uploader(
                    arguments[0], "--database", "a.sqlite", arguments[1], in: folder)
                #expect(run.status == 1 && run.messages.contains("may not be written"), "\(run)")
            }
        }
    }
}

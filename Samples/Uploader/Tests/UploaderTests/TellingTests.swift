import Foundation
import Testing
import UploaderKit

@Suite("Messages of the commands", .timeLimit(.minutes(10)))
struct TellingTests {
    private func uploader(
        _ words: String..., in folder: URL, environment: [String: String] = [:]
    ) throws -> UploaderProcess.Result {
        try UploaderProcess(
            [words[0], "--database", "a.sqlite"] + words.dropFirst(), in: folder, environment: environment
        ).wait()
    }

    private func pushed(_ folder: URL) throws {
        #expect(try uploader("push", "--copy", "--to", "dir:remote", "files", in: folder).status == 0)
    }

    @Test("Pending deletions are reported by status and verify, and resume deletes")
    func waitingDeletions() throws {
        try withFolder(files: 3) { folder in
            try pushed(folder)
            #expect(!(try uploader("status", in: folder).output.contains("removed file")))
            // The state after a removal while the storage was unreachable.
            let database = folder.appendingPathComponent("a.sqlite")
            try TestDatabase.execute(
                "DELETE FROM uploader_document WHERE title LIKE '%0.bin' OR title LIKE '%1.bin'", in: database)
            try TestDatabase.execute(
                "DELETE FROM lfs_file WHERE id NOT IN (SELECT fileId FROM uploader_document)", in: database)
            let words = "2 removed files whose objects or unfinished uploads may remain on the storage: 'resume'"
            #expect(try uploader("status", in: folder).output.contains(words))
            #expect(try uploader("status", "--json", in: folder).events.first?["waitingDeletions"] as? Int == 2)
            let verify = try uploader("verify", in: folder)
            #expect(verify.output.contains("2 deletions waiting for 'resume'"), "\(verify)")
            #expect(try uploader("verify", "--json", in: folder).summary?["waitingDeletions"] as? Int == 2)
            let resume = try uploader("resume", in: folder)
            #expect(resume.status == 0 && resume.output.contains("2 deletions carried out"), "\(resume)")
            let again = try uploader("resume", "--json", in: folder)
            #expect(again.summary?["deletions"] as? Int == 0, "\(again)")
            #expect(!(try uploader("status", in: folder).output.contains("removed file")))
        }
    }

    @Test(
        "The status shows the storage in the form that --to accepts",
        arguments: [
            (
                "s3://localhost/trialb/q", "s3://trialb/q?endpoint=http://127.0.0.1:1",
                "s3://trialb/q?endpoint=http://127.0.0.1:1"
            ),
            (
                "s3://amazonaws.com/photos/mine", "s3://photos/mine?region=eu-west-1",
                "s3://photos/mine?region=eu-west-1"
            ),
            ("s3://amazonaws.com/photos/mine", nil, "s3://photos/mine"),
            ("s3://s3.example/photos", nil, "s3://photos?endpoint=https://s3.example"),
            ("s3://s3.example/base/photos/q", "s3://photos/q", "s3://photos/q?endpoint=https://s3.example/base"),
            (
                "s3://s3.example:9000/photos", "s3://photos?region=x",
                "s3://photos?region=x&endpoint=https://s3.example:9000"
            ),
            ("webdav://host/folder", "webdav+https://host/folder", "webdav+https://host/folder"),
        ] as [(String, String?, String)])
    func storage(location: String, argument: String?, shown: String) throws {
        #expect(StorageLocation.argument(location, given: argument) == shown)
        try withFolder(files: 1) { folder in
            try pushed(folder)
            let given = argument.map { "'\($0)'" } ?? "NULL"
            try TestDatabase.execute(
                "UPDATE uploader_storage SET location = '\(location)', argument = \(given)",
                in: folder.appendingPathComponent("a.sqlite"))
            #expect(try uploader("status", in: folder).output.contains("\non \(shown)\n"))
            #expect(try uploader("status", "--json", in: folder).events.first?["storage"] as? String == shown)
            guard location.hasPrefix("s3://") else { return }
            // The printed argument names the same storage for the next run, although no server runs there.
            let dry = try uploader("push", "-n", "--to", shown, "files", in: folder)
            #expect(dry.status == 0, "\(dry)")
            let other = try uploader(
                "push", "-n", "--to", "s3://other?endpoint=https://else.example", "files", in: folder)
            #expect(
                other.status == 1 && other.messages.contains("are on \(shown), and --to names s3://other?endpoint="))
        }
    }

    @Test("A tilde in a backup group is the home folder, and --groups changes no setting")
    func groups() throws {
        try withFolder(files: 2) { folder in
            try randomData(9).write(to: folder.appendingPathComponent("files/cache"))
            let backup = try uploader(
                "backup", "--to", "dir:remote", "--groups", "include:~/files,exclude:~/files/cache", in: folder,
                environment: ["HOME": folder.path])
            #expect(backup.status == 0 && backup.output.hasPrefix("2 attached"), "\(backup)")
            let list = try UploaderProcess.run("settings", "list", "--database", "a.sqlite", in: folder).output
            #expect(list.contains("backup.groups  not set  (default)"), "\(list)")
        }
    }

    @Test("Special files and unreadable paths are counted and reported")
    func special() throws {
        try withFolder(files: 1) { folder in
            #expect(try system("mkfifo", folder.appendingPathComponent("files/a.fifo").path))
            let inFolder = try uploader("push", "--to", "dir:remote", "files", in: folder)
            #expect(
                inFolder.status == 0 && inFolder.messages.contains("a.fifo: it is not a file or folder"), "\(inFolder)")
            #expect(inFolder.output.contains("1 skipped"))
            #expect(try uploader("push", "-q", "files", in: folder).messages.isEmpty)
            for name in ["files/a.fifo", "/dev/null"] {
                let named = try uploader("push", name, in: folder)
                #expect(named.status == 3 && named.messages.contains("\(name): it is not a file or folder"), "\(named)")
                #expect(named.output.contains("1 failed"))
                #expect(try uploader("push", "-n", name, in: folder).status == 3)
            }
            let missing = try uploader("push", "none", "files/0.bin", in: folder)
            #expect(missing.status == 3 && missing.output.contains("1 could not be read"), "\(missing)")
            #expect(!missing.output.contains("skipped"))
            #expect(try uploader("push", "--json", "none", in: folder).summary?["unreadable"] as? Int == 1)
        }
    }

    @Test("A usage error names the wrong option and prints the command's usage")
    func options() throws {
        try withFolder(files: 1) { folder in
            for (words, expected) in [
                (["push", "--filter", "- *.jpg", "x"], "There is no option '--filter'."),
                (["push", "--databse", "a", "x"], "'--databse'. Did you mean '--database'?"),
                (["push", "--databse=a", "x"], "'--databse'. Did you mean '--database'?"),
                (["settings", "list", "--jsn"], "'--jsn'. Did you mean '--json'?"),
                (["restore"], "'restore'. Did you mean 'pull'?"), (["rm", "a"], "'rm'. Did you mean 'remove'?"),
                (["ls"], "'ls'. Did you mean 'list'?"),
                (["push", "--transfers", "4"], "'--transfers'. Did you mean '--max-executors'?"),
                (["push", "-P", "files"], "'-P'. Did you mean '--progress'?"),
                (["verify", "--database", "a", "--read-data", "10%"], "Write --read-data=10%"),
                (["push", "--database", "b.sqlite", "files"], "Usage: uploader push"),
            ] {
                let run = try UploaderProcess(words, in: folder).wait()
                #expect(run.status == 64 && run.messages.contains(expected), "\(run)")
            }
            // Values, words after `--`, and options with several spellings are left alone.
            #expect(
                try uploader("push", "--to", "dir:remote", "--dryrun", "--exclude", "x", "files", in: folder).status
                    == 0)
            #expect(try uploader("push", "--to", "dir:remote", "--", "--databse", in: folder).status == 3)
            for command in ["push", "verify", "pull", "list"] {
                #expect(try UploaderProcess([command, "--help"], in: folder).wait().status == 0)
                #expect(try UploaderProcess(["help", command], in: folder).wait().status == 0)
            }
            #expect(try uploader("push", "--to", "dir:remote", "files", in: folder).status == 0)
            let rate = try uploader("push", "--limit-rate", "1MiB", "files", in: folder)
            #expect(rate.status == 64 && rate.messages.contains("Usage: uploader push"), "\(rate)")
            #expect(rate.messages.contains("--limit-rate is for storages on servers, and not for dir:."))
        }
    }

    @Test("With --json, a fatal error and an unknown name are printed as events")
    func jsonErrors() throws {
        try withFolder(files: 1) { folder in
            try Data().write(to: folder.appendingPathComponent("empty"))
            for words in [
                ["status"], ["list"], ["list", "--versions"], ["free"], ["free", "x"],
                ["pull", "-n", "x", "--output", "o"],
                ["remove", "-n", "x"], ["push", "--to", "dir:r", "--files-from", "empty", "files"],
            ] {
                let run = try UploaderProcess(
                    [words[0], "--database", "none.sqlite", "--json"] + words.dropFirst(), in: folder
                ).wait()
                #expect(run.status == 1 && run.events.map { $0["event"] as? String } == ["error"], "\(words) \(run)")
                #expect(run.events.first?["reason"] is String)
            }
            let settings = try UploaderProcess.run("settings", "list", "--json", "--database", "none", in: folder)
            #expect(settings.events.map { $0["event"] as? String } == ["error"], "\(settings)")
            try pushed(folder)
            for words in [["list"], ["list", "--versions"], ["free"]] {
                let run = try UploaderProcess(
                    [words[0], "--database", "a.sqlite", "--json"] + words.dropFirst() + ["nothing"], in: folder
                ).wait()
                let failed = run.events.first
                #expect(run.status == 3 && failed?["event"] as? String == "failed", "\(words) \(run)")
                #expect(failed?["path"] as? String == "nothing" && failed?["reason"] is String)
            }
        }
    }

    @Test("Ages and sizes accept units, and a rate of zero is refused")
    func units() throws {
        try withFolder(files: 2) { folder in
            try pushed(folder)
            for words in [
                ["free", "-n", "--older-than", "3d"], ["free", "-n", "--older-than", "12h"],
                ["free", "-n", "--older-than", "1w2d"], ["verify", "--orphan-age", "1d"],
                ["verify", "--orphan-age", "0"],
                ["free", "-n", "--keep-bytes", "0"], ["free", "-n", "--keep-bytes", "1TiB"],
                ["free", "-n", "--keep-bytes", "1TB"],
            ] {
                let run = try UploaderProcess(
                    [words[0], "--database", "a.sqlite"] + words.dropFirst(), in: folder
                ).wait()
                #expect(run.status == 0, "\(words) \(run)")
            }
            for words in [
                ["free", "--older-than", "3"], ["free", "--older-than", "-1d"], ["verify", "--orphan-age", "x"],
            ] {
                let run = try UploaderProcess(
                    [words[0], "--database", "a.sqlite"] + words.dropFirst(), in: folder
                ).wait()
                #expect(run.status == 64, "\(words) \(run)")
            }
            let rate = try uploader("resume", "--to", "s3://b", "--limit-rate", "0", in: folder)
            #expect(rate.status == 64 && rate.messages.contains("at least one byte per second"), "\(rate)")
        }
    }

    @Test("Freeing prints the path of each file, unless --quiet is given")
    func freed() throws {
        try withFolder(files: 2) { folder in
            try pushed(folder)
            let preview = try uploader("free", "-n", in: folder)
            #expect(preview.output.contains("/files/0.bin  10.0 KiB") && preview.output.contains("/files/1.bin"))
            let run = try uploader("free", "-q", in: folder)
            #expect(run.status == 0 && run.output.isEmpty && run.messages.isEmpty, "\(run)")
            #expect(try uploader("list", "--no-here", in: folder).output.split(separator: "\n").count == 2)
        }
    }

    @Test("The summary counts equal files separately, and a dry run explains --move")
    func counts() throws {
        try withFolder(files: 1) { folder in
            let files = folder.appendingPathComponent("files")
            try FileManager.default.copyItem(
                at: files.appendingPathComponent("0.bin"), to: files.appendingPathComponent("copy"))
            let dry = try uploader("push", "-n", "--move", "--to", "dir:remote", "files", "files/copy", in: folder)
            #expect(dry.output.contains("2 files to attach, 20.0 KiB; once the storage has them, these"), "\(dry)")
            let push = try uploader("push", "--to", "dir:remote", "files", in: folder)
            #expect(push.output.contains("\n2 attached, 1 uploaded"), "\(push)")
            #expect(push.output.contains(", 1 with content that is already stored"))
            let status = try uploader("status", in: folder).output
            #expect(
                status.hasPrefix("1 file: 1 remote, 0 local, 0 failed, 0 B to upload\n2 paths. Files with equal"))
        }
    }

    @Test("A pull and its dry run count the same folders")
    func pulled() throws {
        try withFolder(files: 2) { folder in
            let inner = folder.appendingPathComponent("files/a/empty")
            try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
            try randomData(5).write(to: folder.appendingPathComponent("files/a/x"))
            try FileManager.default.createSymbolicLink(
                atPath: folder.appendingPathComponent("files/link").path, withDestinationPath: "0.bin")
            try pushed(folder)
            for expected in [(3, 0), (0, 3)] {
                let words = ["pull", "--database", "a.sqlite", "--json", "--all", "--output", "out"]
                let preview = try UploaderProcess(words + ["-n"], in: folder).wait().summary
                let run = try UploaderProcess(words, in: folder).wait().summary
                for figures in [preview, run] {
                    #expect(figures?["folders"] as? Int == expected.0, "\(figures ?? [:])")
                    #expect(figures?["unchanged"] as? Int == expected.1, "\(figures ?? [:])")
                }
            }
        }
    }
}

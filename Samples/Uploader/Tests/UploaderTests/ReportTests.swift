import Foundation
import Testing

@Suite("Report for an issue", .timeLimit(.minutes(10)))
struct ReportTests {
    @Test("The report has versions, counts and error codes, and no name, path or address")
    func report() throws {
        try withFolder(files: 0) { folder in
            let files = folder.appending(path: "files")
            try Data("one".utf8).write(to: files.appending(path: "zqxjk-photo.jpg"))
            let database = ["--database", "zqxjk.sqlite"]
            let push = ["push", "--to", "dir:zqxjk-storage", "files"] + database
            #expect(try UploaderProcess(push, in: folder).wait().status == 0)
            let settings = [
                ("account.serverURL", "https://zqxjk.example"), ("backup.groups", "include:/zqxjk"),
                ("backup.delay", "10m"),
            ]
            for (name, value) in settings {
                let set = ["settings", "set", name, value] + database
                #expect(try UploaderProcess(set, in: folder).wait().status == 0)
            }
            let report = try UploaderProcess(
                ["report"], in: folder, environment: ["UPLOADER_DATABASE": "zqxjk.sqlite"]
            ).wait()
            #expect(report.status == 0, "\(report)")
            #expect(!report.output.contains("zqxjk"), "\(report.output)")
            let lines = report.output.split(separator: "\n").map(String.init)
            #expect(lines.first?.hasPrefix("uploader ") == true)
            for line in [
                "options from variables and files: database", "storage: dir",
                "files: 1, 1 remote, 0 local, 0 failed", "account.serverURL: set", "account.user: not set",
                "backup.groups: set", "backup.delay: 10m", "backup.automatic: false",
            ] {
                #expect(lines.contains(line), "\(line)")
            }
        }
    }

    @Test("The report counts failed uploads by their code")
    func failed() throws {
        try withFolder(files: 2) { folder in
            let database = ["--database", "a.sqlite"]
            let push = ["push", "--to", "dir:remote", "files"] + database
            #expect(try UploaderProcess(push, in: folder).wait().status == 0)
            try TestDatabase.execute(
                """
                UPDATE lfs_file SET status = 'local', url = NULL;
                INSERT INTO lfs_job (fileID, state, lane, byteCount, notBefore, errorCode, errorMessage)
                SELECT id, 'failed', 0, byteCount, 0, 'sourceChanged', 'zqxjk' FROM lfs_file;
                """, in: folder.appending(path: "a.sqlite"))
            let report = try UploaderProcess(["report"] + database, in: folder).wait()
            #expect(report.output.contains("failed with sourceChanged: 2 files\n"), "\(report)")
            #expect(!report.output.contains("zqxjk"))
        }
    }
}

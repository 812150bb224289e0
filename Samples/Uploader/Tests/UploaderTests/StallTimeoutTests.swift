import Foundation
import Testing
import UploaderKit

@Suite("Giving up", .timeLimit(.minutes(10)))
struct StallTimeoutTests {
    @Test("A run gives up when there is no progress for longer than the limit")
    func limit() {
        func answers(_ limit: Duration?, looks: [(Int64, Int)]) -> [Bool] {
            var patience = StallTimeout(limit)
            return looks.map { patience.isOver([$0.0], at: .seconds($0.1)) }
        }
        #expect(
            answers(.seconds(30), looks: [(1, 0), (1, 29), (2, 31), (2, 60), (2, 61)]) == [
                false, false, false, false, true,
            ])
        #expect(answers(nil, looks: [(1, 0), (1, 1_000_000)]) == [false, false])
    }

    @Test(
        "A run on a full storage exits with 3 and the reasons, and resume continues",
        .enabled(if: isRoot, "needs root to mount"))
    func fullStorage() throws {
        try withFolder(files: 40) { folder in
            try withMount(folder, options: "size=256k") { mount in
                let storage = ["--database", "a.sqlite", "--to", "dir:\(mount.path)/remote"]
                for command in [["push", "files"], ["resume"]] {
                    let run = try UploaderProcess(
                        [command[0]] + storage + ["--give-up-after", "15s", "--json"] + command.dropFirst(), in: folder
                    ).wait()
                    #expect(run.status == 3, "\(run.messages)")
                    #expect(run.messages.contains("full"), "\(run.messages)")
                    #expect(run.messages.contains("'resume' continues"))
                    #expect(run.events.contains { $0["event"] as? String == "gaveUp" })
                    #expect((run.summary?["failed"] as? Int ?? 0) > 0)
                }
                #expect(try system("mount", "-o", "remount,size=16m", mount.path))
                // As after a day of failures: a run that the user starts does not wait for the next scheduled attempt.
                let later = "UPDATE lfs_job SET attempts = 20, notBefore = notBefore + 3600000"
                try TestDatabase.execute(later, in: folder.appendingPathComponent("a.sqlite"))
                let resumed = try UploaderProcess(["resume", "--give-up-after", "20s"] + storage, in: folder).wait()
                #expect(resumed.status == 0, "\(resumed.messages)")
                let database = folder.appendingPathComponent("a.sqlite")
                #expect(try TestDatabase.count("lfs_file WHERE status = 'remote'", in: database) == 40)
            }
        }
    }

    @Test(
        "A run that gives up counts pending files, but not known losses",
        .enabled(if: isRoot, "needs root to mount"))
    func waitingBesideLosses() throws {
        try withFolder(files: 2) { folder in
            try withMount(folder, options: "size=256k") { mount in
                func uploader(_ command: String, arguments: String...) throws -> UploaderProcess.Result {
                    let options = ["--database", "a.sqlite", "--to", "dir:\(mount.path)/store"]
                    return try UploaderProcess([command] + options + arguments, in: folder).wait()
                }
                #expect(try uploader("push", arguments: "--free-uploaded", "files").status == 0)
                let id = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))[0].id
                #expect(try RestoreTests.shell("rm '\(mount.path)'/store/*/\(id); rm files/0.bin", in: folder))
                #expect(try uploader("verify").status == 5)
                try randomData(600_000).write(to: folder.appendingPathComponent("files/large"))
                let push = try uploader("push", arguments: "--give-up-after", "15s", "files/large")
                #expect(push.status == 3 && push.messages.contains("1 file not uploaded"), "\(push)")
                #expect(push.output.contains("1 not uploaded yet"), "\(push)")
            }
        }
    }

    @Test(
        "Pull and remove leave pending uploads to resume",
        .enabled(if: isRoot, "needs root to mount"))
    func othersWork() throws {
        try withFolder(files: 2) { folder in
            try withMount(folder, options: "size=256k") { mount in
                func uploader(_ command: String, arguments: [String]) throws -> UploaderProcess.Result {
                    let options = ["--database", "a.sqlite", "--to", "dir:\(mount.path)/store", "--json"]
                    return try UploaderProcess([command] + options + arguments, in: folder).wait()
                }
                #expect(try uploader("push", arguments: ["files"]).status == 0)
                try randomData(600_000).write(to: folder.appendingPathComponent("files/large"))
                #expect(try uploader("push", arguments: ["--give-up-after", "15s", "files"]).status == 3)
                for (command, words) in [("pull", ["--output", "out", "files/0.bin"]), ("remove", ["files/0.bin"])] {
                    let run = try uploader(command, arguments: words)
                    #expect(run.status == 0, "\(command): \(run.messages)")
                    #expect(run.summary?["failed"] as? Int == 0, "\(run.output)")
                    #expect(!run.output.contains("large") && !run.messages.contains("large"), "\(run.output)")
                }
                let database = folder.appendingPathComponent("a.sqlite")
                #expect(try TestDatabase.count("lfs_file WHERE status = 'local'", in: database) == 1)
            }
        }
    }

    @Test("The status shows an unreachable storage until it is available again")
    func outageInStatus() throws {
        try withFolder(files: 2) { folder in
            let keys = ["AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"]
            // No server listens on port 1.
            let away = "s3://photos?endpoint=http://127.0.0.1:1&addressing=path&region=x"
            let push = try UploaderProcess(
                ["push", "--database", "a.sqlite", "--to", away, "--give-up-after", "15s", "files"], in: folder,
                environment: keys
            ).wait()
            #expect(push.status == 3, "\(push.messages)")
            let status = try UploaderProcess.run("status", "--database", "a.sqlite", in: folder)
            #expect(status.output.contains("2 files: 0 remote, 2 local, 0 failed, "), "\(status.output)")
            #expect(push.output.contains(" 0 failed, 2 not uploaded yet, "), "\(push.output)")
            #expect(status.output.contains("the storage has been unavailable for "), "\(status.output)")
            let json = try UploaderProcess.run("status", "--database", "a.sqlite", "--json", in: folder)
            let figures = try #require(json.events.first)
            let outage = try #require(figures["outage"] as? [String: String])
            #expect(outage["code"] == "unreachable")
            #expect(outage["reason"]?.contains("127.0.0.1") == true, "\(outage)")
            let since = try #require(outage["since"].flatMap { try? Date($0, strategy: .iso8601) })
            #expect(since <= Date() && since > Date().addingTimeInterval(-600))

            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent("remote"), withIntermediateDirectories: false)
            let resume = try UploaderProcess(
                ["resume", "--database", "a.sqlite", "--to", "dir:remote", "--change-storage"], in: folder
            ).wait()
            #expect(resume.status == 0, "\(resume.messages)")
            let after = try UploaderProcess.run("status", "--database", "a.sqlite", in: folder)
            #expect(after.output.hasPrefix("2 files: 2 remote, 0 local, 0 failed, 0 B to upload\non dir:/"))
            #expect(after.output.hasSuffix("/remote\n"), "\(after.output)")
        }
    }
}

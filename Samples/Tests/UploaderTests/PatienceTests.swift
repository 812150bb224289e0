import Foundation
import Testing
import UploaderKit

@Suite("A run that gets nowhere", .timeLimit(.minutes(10)))
struct PatienceTests {
    @Test("ends when nothing was done for longer than the limit, and anything that was done begins the time anew")
    func limit() {
        func answers(_ limit: Duration?, _ looks: [(Int64, Int)]) -> [Bool] {
            var patience = Patience(limit)
            return looks.map { patience.isOver([$0.0], at: .seconds($0.1)) }
        }
        #expect(
            answers(.seconds(30), [(1, 0), (1, 29), (2, 31), (2, 60), (2, 61)]) == [false, false, false, false, true])
        #expect(answers(nil, [(1, 0), (1, 1_000_000)]) == [false, false])
    }

    @Test("Times are written as people write them")
    func times() {
        #expect(TimeSpan(argument: "90s")?.duration == .seconds(90))
        #expect(TimeSpan(argument: "1.5h")?.duration == .seconds(5_400))
        #expect(TimeSpan(argument: "2d")?.duration == .seconds(172_800))
        #expect(TimeSpan(argument: "never").map { $0.duration == nil } == true)
        for wrong in ["", "30", "m", "-1s", "0s", "1e9d", "nan", "inf", "1w"] {
            #expect(TimeSpan(argument: wrong) == nil, "\(wrong)")
        }
    }

    @Test(
        "A storage that stays full ends it with status 3 and the reasons, and resume goes on",
        .enabled(if: isRoot, "needs root to mount"))
    func fullStorage() throws {
        try withFolder(files: 40) { folder in
            try withMount(folder, "size=256k") { mount in
                let storage = ["--database", "a.sqlite", "--to", "dir:\(mount.path)/remote"]
                for command in [["push", "files"], ["resume"]] {
                    let run = try UploaderProcess(
                        [command[0]] + storage + ["--give-up-after", "1s", "--json"] + command.dropFirst(), in: folder
                    ).wait()
                    #expect(run.status == 3, "\(run.messages)")
                    #expect(run.messages.contains("full"), "\(run.messages)")
                    #expect(run.messages.contains("'resume' goes on"))
                    #expect(run.events.contains { $0["event"] as? String == "gaveUp" })
                    #expect((run.summary?["failed"] as? Int ?? 0) > 0)
                }
                #expect(try system("mount", "-o", "remount,size=16m", mount.path))
                // As after a day of failures: whoever asks for it by hand waits for no later try.
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
        "What waits is counted when it gives up, and not what is known to be lost",
        .enabled(if: isRoot, "needs root to mount"))
    func waitingBesideLosses() throws {
        try withFolder(files: 2) { folder in
            try withMount(folder, "size=256k") { mount in
                func uploader(_ command: String, _ arguments: String...) throws -> UploaderProcess.Result {
                    let options = ["--database", "a.sqlite", "--to", "dir:\(mount.path)/store"]
                    return try UploaderProcess([command] + options + arguments, in: folder).wait()
                }
                #expect(try uploader("push", "--free-uploaded", "files").status == 0)
                let id = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))[0].id
                #expect(try RestoreTests.shell("rm '\(mount.path)'/store/*/\(id); rm files/0.bin", in: folder))
                #expect(try uploader("verify").status == 5)
                try randomData(600_000).write(to: folder.appendingPathComponent("files/large"))
                let push = try uploader("push", "--give-up-after", "1s", "files/large")
                #expect(push.status == 3 && push.messages.contains("1 file not uploaded"), "\(push)")
                #expect(push.output.contains("1 not uploaded yet"), "\(push)")
            }
        }
    }

    @Test(
        "pull and remove do what they are asked, and leave uploads that wait to resume",
        .enabled(if: isRoot, "needs root to mount"))
    func othersWork() throws {
        try withFolder(files: 2) { folder in
            try withMount(folder, "size=256k") { mount in
                func uploader(_ command: String, _ arguments: [String]) throws -> UploaderProcess.Result {
                    let options = ["--database", "a.sqlite", "--to", "dir:\(mount.path)/store", "--json"]
                    return try UploaderProcess([command] + options + arguments, in: folder).wait()
                }
                #expect(try uploader("push", ["files"]).status == 0)
                try randomData(600_000).write(to: folder.appendingPathComponent("files/large"))
                #expect(try uploader("push", ["--give-up-after", "1s", "files"]).status == 3)
                for (command, words) in [("pull", ["--output", "out", "files/0.bin"]), ("remove", ["files/0.bin"])] {
                    let run = try uploader(command, words)
                    #expect(run.status == 0, "\(command): \(run.messages)")
                    #expect(run.summary?["failed"] as? Int == 0, "\(run.output)")
                    #expect(!run.output.contains("large") && !run.messages.contains("large"), "\(run.output)")
                }
                let database = folder.appendingPathComponent("a.sqlite")
                #expect(try TestDatabase.count("lfs_file WHERE status = 'local'", in: database) == 1)
            }
        }
    }

    @Test("A storage that is away stands in the status, until it is there again")
    func outageInStatus() throws {
        try withFolder(files: 2) { folder in
            let keys = ["AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"]
            // Nobody listens at port 1.
            let away = "s3://photos?endpoint=http://127.0.0.1:1&addressing=path&region=x"
            let push = try UploaderProcess(
                ["push", "--database", "a.sqlite", "--to", away, "--give-up-after", "1s", "files"], in: folder,
                environment: keys
            ).wait()
            #expect(push.status == 3, "\(push.messages)")
            let status = try UploaderProcess.run("status", "--database", "a.sqlite", in: folder)
            #expect(status.output.contains("2 files: 0 remote, 2 local, 0 failed, "), "\(status.output)")
            #expect(push.output.contains(" 0 failed, 2 not uploaded yet, "), "\(push.output)")
            #expect(status.output.contains("the storage is away or refuses, for "), "\(status.output)")
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

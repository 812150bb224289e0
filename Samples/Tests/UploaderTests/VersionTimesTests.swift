import Foundation
import Testing
import UploaderKit

@Suite("The end of old versions", .timeLimit(.minutes(2)))
struct VersionTimesTests {
    private static let day = 86_400

    @Test("One goes when it was replaced as long ago as is chosen, by any run that uploads, and is told")
    func expiry() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two"], "--keep-versions", "30d")
            try files.age(by: 29 * Self.day)
            try files.write("three")
            #expect(try files.push()["versions"] as? Int == 0)
            #expect(files.objects() == 3)
            try files.age(by: 2 * Self.day)
            // The second one was replaced two days ago.
            let resumed = try files.run("resume", "--json")
            #expect(resumed.summary?["versions"] as? Int == 1 && resumed.summary?["versionBytes"] as? Int == 3)
            let expired = resumed.events.filter { $0["event"] as? String == "expired" }
            #expect(expired.map { $0["versions"] as? Int } == [1] && expired.map { $0["bytes"] as? Int } == [3])
            #expect(files.objects() == 2)
            #expect(try files.old().count == 1)
            #expect(try files.run("resume", "--json").summary?["versions"] as? Int == 0)
        }
    }

    @Test("A later choice holds for those that are there: shorter ones go, longer ones stay, none ends all")
    func laterChoice() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two"], "--keep-versions", "30d")
            try files.age(by: 20 * Self.day)
            try files.push(["three"])
            try files.age(by: 6 * Self.day)
            // Those of 26 and 6 days.
            #expect(try files.push("--keep-versions", "7d")["versions"] as? Int == 1)
            try files.age(by: 3 * Self.day)
            // It would be over, but for the new choice.
            #expect(try files.push("--keep-versions", "10d")["versions"] as? Int == 0)
            #expect(files.objects() == 2)
            let ended = try files.run("push", "--keep-versions", "none", "files")
            #expect(ended.output.contains("1 old version removed (3 B)"), "\(ended.output)")
            #expect(files.objects() == 1)
            #expect(try files.count("lfs_file") == 1)
            #expect(try files.count("uploader_replaced") == 0)
        }
    }

    @Test("Many go in batches, and none of a file is left")
    func many() throws {
        try withVersionedFiles { files in
            for number in 0..<1_001 { try files.write("\(number)", to: "\(number)") }
            try files.push("--keep-versions", "forever")
            for number in 0..<1_001 { try files.write("new \(number)", to: "\(number)") }
            try files.push()
            #expect(files.objects() == 2_002)
            #expect(try files.push("--keep-versions", "none")["versions"] as? Int == 1_001)
            #expect(files.objects() == 1_001)
        }
    }

    @Test(
        "None goes before its new one is on the storage, whatever is chosen meanwhile",
        .enabled(if: isRoot, "needs root to mount"))
    func fullStorage() throws {
        try withVersionedFiles { files in
            try withMount(files.folder, "size=256k") { mount in
                let storage = ["--database", "a.sqlite", "--to", "dir:\(mount.path)/remote"]
                try files.write("one")
                let first = ["push"] + storage + ["--keep-versions", "forever", "files"]
                #expect(try UploaderProcess(first, in: files.folder).wait().status == 0)
                let old = try #require(TestDatabase.entries(in: files.database).first)
                let object = mount.appendingPathComponent("remote/\(old.key)").path
                try randomData(1 << 20).write(to: files.folder.appendingPathComponent("files/a"))
                for choice in ["forever", "none"] {
                    let words = ["push"] + storage + ["--keep-versions", choice, "--json", "files"]
                    let run = try UploaderProcess(words, in: files.folder)
                    while run.process.isRunning, try !run.outputSoFar().contains("\"noSpace\"") { sched_yield() }
                    run.process.interrupt()
                    #expect(try run.wait().status == 130)
                    #expect(FileManager.default.fileExists(atPath: object), "\(choice)")
                }
                #expect(try system("mount", "-o", "remount,size=16m", mount.path))
                let resumed = try UploaderProcess(["resume", "--json"] + storage, in: files.folder).wait()
                #expect(resumed.summary?["versions"] as? Int == 1, "\(resumed.messages)")
                #expect(!FileManager.default.fileExists(atPath: object))
                #expect(try files.count("lfs_file") == 1)
            }
        }
    }

    // MARK: Wrong clocks

    @Test("A clock that leaps ahead removes none, until a run half a day later finds the same")
    func ahead() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two"], "--keep-versions", "30d")
            try files.age(by: 60 * Self.day, withClock: true)
            for _ in 0..<2 { #expect(try files.run("resume", "--json").summary?["versions"] as? Int == 0) }
            // What is replaced meanwhile begins now, and not before the machine rested.
            try files.push(["three"])
            try files.sql("UPDATE uploader_storage SET versionsLeapt = versionsLeapt - \(Self.day / 2 + 1)")
            #expect(try files.run("resume", "--json").summary?["versions"] as? Int == 1)
            #expect(try files.old().count == 1 && files.objects() == 2)
        }
    }

    @Test("A clock that was put back removes none, and a time that is still to come counts from now")
    func back() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two"], "--keep-versions", "30d")
            // As if all that was in the year after the next.
            try files.age(by: -500 * Self.day, withClock: true)
            #expect(try files.run("resume", "--json").summary?["versions"] as? Int == 0)
            let believed = "uploader_storage WHERE versionsBelieved > unixepoch() + \(400 * Self.day)"
            #expect(try files.count(believed) == 1)
            try files.sql("UPDATE uploader_storage SET versionsLeapt = versionsLeapt - \(Self.day / 2 + 1)")
            #expect(try files.run("resume", "--json").summary?["versions"] as? Int == 0)
            #expect(try files.count(believed) == 0)
            #expect(
                try files.count("uploader_replaced WHERE abs(replacedAt - unixepoch()) < 100") == 1)
            try files.age(by: 31 * Self.day)
            #expect(try files.run("resume", "--json").summary?["versions"] as? Int == 1)
        }
    }

    @Test("With a right clock a time that is still to come, or none, counts from now at once")
    func future() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two", "three", "four"], "--keep-versions", "30d")
            let odd = ["9e999", "'soon'", "x'00ff'"]
            for (index, value) in odd.enumerated() {
                try files.sql("UPDATE uploader_replaced SET replacedAt = \(value) WHERE id = \(index + 1)")
            }
            #expect(try files.versions().count == 4)
            #expect(try files.run("resume", "--json").summary?["versions"] as? Int == 0)
            #expect(try files.count("uploader_replaced WHERE abs(replacedAt - unixepoch()) < 100") == 3)
        }
    }

    @Test("The time that versions age by")
    func clock() {
        func date(_ days: Double) -> Date { Date(timeIntervalSince1970: (20_000 + days) * 86_400) }
        /// The days that the looks give, begun at day 0.
        func days(_ looks: Double...) -> [Double] {
            var clock = VersionClock(believed: date(0))
            return looks.map { (clock.look(at: date($0)).timeIntervalSince(date(0)) / 864).rounded() / 100 }
        }
        // As it should be: every night, once a week, and put right by an hour.
        #expect(days(1, 2, 9, 8.96, 9.5) == [1, 2, 9, 8.96, 9.5])
        // Ahead and back again.
        #expect(days(1, 4_000, 4_000.1, 1.2, 2) == [1, 1, 1, 1.2, 2])
        // A long rest, then as it should be; a month between two runs.
        #expect(days(60, 60.4, 60.5, 61) == [0, 0, 60.5, 61])
        #expect(days(30, 60, 90, 120) == [0, 60, 60, 120])
        // Put back: nothing is younger than it was, and nothing goes.
        #expect(days(-400, -399.9, 0.1) == [-400, -399.9, 0.1])
        var clock = VersionClock(believed: date(0))
        _ = clock.look(at: date(-400))
        #expect(clock.time(of: date(-400)) == date(0))
        _ = clock.look(at: date(-399))
        #expect(clock.believed == date(-399) && clock.leapt == nil)
        #expect(VersionClock().time(of: date(3)) == date(3))
    }
}

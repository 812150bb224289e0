import Foundation
import Testing
import UploaderKit

@Suite("Expiry of old versions", .timeLimit(.minutes(10)))
struct VersionTimesTests {
    private static let day = 86_400

    @Test("A version expires when the chosen time since its replacement is over")
    func expiry() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two"], words: "--keep-versions", "30d")
            try files.age(by: 29 * Self.day)
            try files.write("three")
            #expect(try files.push()["versions"] as? Int == 0)
            #expect(files.objects() == 3)
            try files.age(by: 2 * Self.day)
            // The second version was replaced two days ago.
            let resumed = try files.run("resume", words: "--json")
            #expect(resumed.summary?["versions"] as? Int == 1 && resumed.summary?["versionBytes"] as? Int == 3)
            let expired = resumed.events.filter { $0["event"] as? String == "expired" }
            #expect(expired.map { $0["versions"] as? Int } == [1] && expired.map { $0["bytes"] as? Int } == [3])
            #expect(files.objects() == 2)
            #expect(try files.old().count == 1)
            #expect(try files.run("resume", words: "--json").summary?["versions"] as? Int == 0)
        }
    }

    @Test("A later retention setting applies to existing versions")
    func laterChoice() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two"], words: "--keep-versions", "30d")
            try files.age(by: 20 * Self.day)
            try files.push(["three"])
            try files.age(by: 6 * Self.day)
            // The versions are 26 and 6 days old.
            #expect(try files.push("--keep-versions", "7d")["versions"] as? Int == 1)
            try files.age(by: 3 * Self.day)
            // The version would have expired without the new setting.
            #expect(try files.push("--keep-versions", "10d")["versions"] as? Int == 0)
            #expect(files.objects() == 2)
            let ended = try files.run("push", words: "--keep-versions", "none", "files")
            #expect(ended.output.contains("1 old version removed (3 B)"), "\(ended.output)")
            #expect(files.objects() == 1)
            #expect(try files.count("lfs_file") == 1)
            #expect(try files.count("uploader_replaced") == 0)
        }
    }

    @Test("Many versions expire in batches")
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
        "No version is removed before the new one is uploaded",
        .enabled(if: isRoot, "needs root to mount"))
    func fullStorage() throws {
        try withVersionedFiles { files in
            try withMount(files.folder, options: "size=256k") { mount in
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

    @Test("A clock that was wrong in the past expires no version")
    func past() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two"], words: "--keep-versions", "30d")
            // The clock is in the past for two runs with half a day between them, and then right again for two runs.
            for leap in [-500 * Self.day, Self.day / 2 + 1, 500 * Self.day, Self.day / 2 + 1] {
                try files.leap(by: leap)
                #expect(try files.run("resume", words: "--json").summary?["versions"] as? Int == 0, "\(leap)")
            }
            // The time of the replacement is unchanged.
            #expect(try files.count("uploader_replaced WHERE abs(replacedAt - unixepoch()) < 100") == 1)
            #expect(try files.count("uploader_storage WHERE versionsAge < 9 * \(Self.day)") == 1)
        }
    }

    @Test("A single run with a clock that is decades ahead expires no version")
    func ahead() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two"], words: "--keep-versions", "30d")
            for leap in [60 * Self.day, 40 * 365 * Self.day, -40 * 365 * Self.day] {
                try files.leap(by: leap)
                #expect(try files.run("resume", words: "--json").summary?["versions"] as? Int == 0, "\(leap)")
            }
            #expect(try files.objects() == 2 && files.old().count == 1)
            // A version that is replaced now starts at the current age.
            try files.push(["three"])
            #expect(try files.count("uploader_replaced WHERE replacedAge >= 14 * \(Self.day)") == 1)
            for leap in 0..<2 {
                try files.leap(by: 10 * Self.day)
                #expect(try files.run("resume", words: "--json").summary?["versions"] as? Int == 0, "\(leap)")
            }
            try files.leap(by: 10 * Self.day)
            // The first version is 35 counted days old, the second one 21.
            #expect(try files.run("resume", words: "--json").summary?["versions"] as? Int == 1)
            #expect(try files.old().count == 1)
        }
    }

    @Test("An invalid age expires no version, and counts from now on")
    func odd() throws {
        try withVersionedFiles { files in
            try files.push(["1", "2", "3", "4", "5", "6", "7", "8"], words: "--keep-versions", "30d")
            try files.age(by: 40 * Self.day)
            let odd = ["9e999", "'soon'", "x'00ff'", "-5", "1e300", "NULL", "-9e999"]
            for (index, value) in odd.enumerated() {
                try files.sql("UPDATE uploader_replaced SET replacedAge = \(value) WHERE id = \(index + 1)")
            }
            // A time before 1970 is valid.
            try files.sql("UPDATE uploader_replaced SET replacedAt = -5 WHERE id < 3")
            #expect(try files.versions().count == 8)
            #expect(try files.run("resume", words: "--json").summary?["versions"] as? Int == 0)
            let right = "uploader_replaced WHERE replacedAge BETWEEN 40 * \(Self.day) AND 41 * \(Self.day)"
            #expect(try files.count(right) == 7)
            try files.age(by: 31 * Self.day)
            #expect(try files.run("resume", words: "--json").summary?["versions"] as? Int == 7)
        }
    }

    @Test("The age of versions is saved at most once an hour")
    func precision() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two"], words: "--keep-versions", "30d")
            try files.sql("UPDATE uploader_storage SET versionsAge = 5")
            try files.leap(by: 1_800)
            try files.run("resume")
            #expect(try files.count("uploader_storage WHERE versionsAge = 5") == 1)
            try files.leap(by: 1_801)
            try files.run("resume")
            #expect(try files.count("uploader_storage WHERE versionsAge BETWEEN 3606 AND 3700") == 1)
        }
    }

    @Test("The clock of versions limits the leaps of the system clock")
    func clock() {
        func date(_ days: Double) -> Date { Date(timeIntervalSince1970: (20_000 + days) * 86_400) }
        /// Returns the counted days after each look, from day 0 on.
        func days(keeping kept: Double?, _ looks: Double...) -> [Double] {
            var clock = VersionClock(seen: date(0))
            return looks.map { day in
                clock.look(at: date(day), keeping: kept.map { $0 * 86_400 })
                #expect(clock.seen == date(day))
                return (clock.age / 864).rounded() / 100
            }
        }
        #expect(days(keeping: 30, 1, 2, 8.5, 8.46, 9) == [1, 2, 8.5, 8.5, 9.04])
        #expect(days(keeping: 30, 1, 27_000, 1.2, 2) == [1, 8, 8, 8.8])
        #expect(days(keeping: 30, -400, -399, 0, 1) == [0, 1, 8, 9])
        #expect(days(keeping: 1, 1, 2, 2.1) == [0.25, 0.5, 0.6])
        #expect(days(keeping: nil, 1, 100) == [1, 8])
        var clock = VersionClock()
        clock.look(at: date(3), keeping: nil)
        #expect(clock == VersionClock(age: 0, seen: date(3)))
        for odd in [nil, -1, .nan, .infinity, -.infinity, 1e300] as [Double?] { #expect(VersionClock.age(odd) == nil) }
    }
}

import Foundation
import Testing

/// A pushed folder of which some objects are damaged.
private struct DamagedStorage {
    /// The damaged files, by the remaining source of the right bytes: a local copy, an original, or none.
    var withCopy: [TestDatabase.Entry] = []
    var withOriginal: [TestDatabase.Entry] = []
    var lost: [TestDatabase.Entry] = []

    var all: [TestDatabase.Entry] { withCopy + withOriginal + lost }

    static func uploader(
        _ command: String, arguments: [String] = [], in folder: URL
    ) throws -> UploaderProcess.Result {
        try UploaderProcess(
            [command, "--database", "a.sqlite", "--to", "dir:remote", "--json", "--progress", "none"] + arguments,
            in: folder
        ).wait()
    }

    /// Pushes files of random sizes, and flips a bit in some of the objects.
    init(files: Int, flips: Int, seed: UInt64, in folder: URL) throws {
        var random = RandomValues(seed: seed)
        for number in 0..<files {
            // Every tenth file is empty. Some files are large enough for several chunks.
            let size =
                number % 10 == 0 ? 0 : number % 50 == 1 ? 300_000 + random.index(500_000) : random.index(20_000) + 1
            let bytes = (0..<size).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            try Data(bytes).write(to: folder.appendingPathComponent("files/\(number).bin"))
        }
        #expect(try Self.uploader("push", arguments: ["--copy", "files"], in: folder).status == 0)
        var entries = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))
            .sorted { $0.path < $1.path }
            .filter { try !Data(contentsOf: URL(fileURLWithPath: $0.path)).isEmpty }
        entries.shuffle(using: &random)
        let third = flips / 3
        withCopy = Array(entries[..<third])
        withOriginal = Array(entries[third..<2 * third])
        lost = Array(entries[(2 * third)..<flips])
        let freed = (withOriginal + lost).map(\.id)
        #expect(try UploaderProcess(["free", "--database", "a.sqlite"] + freed, in: folder).wait().status == 0)
        for entry in all {
            let object = folder.appendingPathComponent("remote/\(entry.key)")
            var bytes = try Data(contentsOf: object)
            bytes[random.index(bytes.count)] ^= 1 << UInt8(random.index(8))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: object.path)
            try bytes.write(to: object)
        }
        // Half of the originals are deleted, and half are replaced by other bytes of the same size.
        for (index, entry) in lost.enumerated() {
            let original = URL(fileURLWithPath: entry.path)
            let size = try Data(contentsOf: original).count
            if index % 2 == 0 {
                try FileManager.default.removeItem(at: original)
            } else {
                try randomData(size + 8).prefix(size).write(to: original)
            }
        }
    }

    func isMended(_ entry: TestDatabase.Entry, in folder: URL) throws -> Bool {
        try Data(contentsOf: folder.appendingPathComponent("remote/\(entry.key)"))
            == Data(contentsOf: URL(fileURLWithPath: entry.path))
    }
}

@Suite("Reading objects back", .timeLimit(.minutes(10)))
struct ReadDataTests {
    private func findings(_ result: UploaderProcess.Result) -> [[String: Any]] {
        result.events.filter { $0["event"] as? String == "finding" }
    }

    private func named(_ result: UploaderProcess.Result) -> Set<String> {
        Set(findings(result).compactMap { $0["id"] as? String })
    }

    private func verify(_ arguments: String..., in folder: URL) throws -> UploaderProcess.Result {
        try DamagedStorage.uploader("verify", arguments: arguments, in: folder)
    }

    @Test("Verification finds every object with a flipped bit and repairs what it can")
    func fifty() throws {
        try withFolder { folder in
            let damage = try DamagedStorage(files: 300, flips: 50, seed: 17, in: folder)
            let found = try verify("--read-data", in: folder)
            #expect(found.status == 5)
            #expect(findings(found).count == 50)
            #expect(named(found) == Set(damage.all.map(\.id)))
            #expect(Set(findings(found).compactMap { $0["path"] as? String }) == Set(damage.all.map(\.path)))
            // The empty files share one object.
            #expect(found.summary?["objectsRead"] as? Int == 271)
            #expect(found.summary?["left"] as? Int == 50)

            let repaired = try verify("--repair", in: folder)
            #expect(repaired.status == 5)
            func ids(_ repair: String?, outcome: String) -> Set<String> {
                Set(
                    findings(repaired).filter {
                        $0["outcome"] as? String == outcome && (repair == nil || $0["repair"] as? String == repair)
                    }.compactMap { $0["id"] as? String })
            }
            #expect(ids("upload", outcome: "underWay") == Set(damage.withCopy.map(\.id)))
            #expect(ids("restore", outcome: "underWay") == Set(damage.withOriginal.map(\.id)))
            #expect(ids(nil, outcome: "noted") == Set(damage.lost.map(\.id)))
            for entry in damage.withCopy + damage.withOriginal { #expect(try damage.isMended(entry, in: folder)) }

            let last = try verify("--read-data", in: folder)
            #expect(last.status == 0)
            #expect(named(last) == Set(damage.lost.map(\.id)))
            #expect(findings(last).allSatisfy { $0["isKnown"] as? Bool == true })
            #expect(last.summary?["known"] as? Int == damage.lost.count)
        }
    }

    @Test("Ten partial verifications read each object once and repair the damage", arguments: ["10%", "3/10"])
    func shares(share: String) throws {
        try withFolder { folder in
            let damage = try DamagedStorage(files: 200, flips: 50, seed: 18, in: folder)
            let total = try TestDatabase.count("lfs_file", in: folder.appendingPathComponent("a.sqlite"))
            var (seen, read): (Set<String>, [Int]) = ([], [])
            var never: [Int] = []
            for _ in 1...10 {
                let run = try verify("--read-data=\(share)", "--repair", in: folder)
                seen.formUnion(named(run))
                read.append(try #require(run.summary?["objectsRead"] as? Int))
                never.append(try #require(run.summary?["neverRead"] as? Int))
            }
            #expect(seen == Set(damage.all.map(\.id)))
            #expect(never.last == 0)
            #expect(never == never.sorted(by: >))
            #expect(read.reduce(0, +) >= total && read.reduce(0, +) < total + total / 5, "\(read)")
            for entry in damage.withCopy + damage.withOriginal { #expect(try damage.isMended(entry, in: folder)) }
            let last = try verify(in: folder)
            #expect(last.status == 0)
            #expect(named(last) == Set(damage.lost.map(\.id)))
        }
    }

    @Test("A size limits the bytes that a verification reads, and the next run continues")
    func budget() throws {
        try withFolder(files: 10) { folder in
            #expect(try DamagedStorage.uploader("push", arguments: ["--copy", "files"], in: folder).status == 0)
            for left in [7, 4, 1, 0] {
                let run = try verify("--read-data=31KiB", in: folder)
                #expect(run.status == 0)
                #expect(run.summary?["neverRead"] as? Int == left)
                #expect(run.summary?["objectBytesRead"] as? Int == 3 * 10_240)
            }
            let small = try verify("--read-data-subset", "1K", in: folder)
            #expect(small.summary?["objectsRead"] as? Int == 1)
            #expect(small.summary?["oldestReading"] != nil)
        }
    }

    @Test("A killed verification continues where it stopped, and a finished one restarts")
    func killed() throws {
        try withFolder(files: 2_000, byteCount: 3_000) { folder in
            #expect(try DamagedStorage.uploader("push", arguments: ["--copy", "files"], in: folder).status == 0)
            let database = folder.appendingPathComponent("a.sqlite")
            // The verification reads the objects in the order of their ids, and is killed at half of them.
            let half = try TestDatabase.ids(in: database)[1_000]
            let faults = [
                "LD_PRELOAD": try Faults.path.get(), "LFS_FAULT_FILE": half, "LFS_FAULT_CALL": "open",
                "LFS_FAULT_FROM": "1", "LFS_FAULT_COMMAND": "kill -9 $PPID",
            ]
            let process = try UploaderProcess(
                ["verify", "--database", "a.sqlite", "--to", "dir:remote", "--read-data"], in: folder,
                environment: faults)
            #expect(try process.wait().status == 128 + SIGKILL)
            let read = try TestDatabase.count("uploader_reading WHERE readAt > 0", in: database)
            #expect(read > 0 && read < 2_000)
            let next = try verify("--read-data", in: folder)
            #expect(next.status == 0)
            #expect(next.summary?["objectsRead"] as? Int == 2_000 - read)
            #expect(try verify("--read-data", in: folder).summary?["objectsRead"] as? Int == 2_000)
        }
    }

    @Test(
        "An unreadable object is reported, and the next verification reads it again",
        .enabled(if: isRoot, "needs root to act as another user"))
    func unread() throws {
        try withFolder(files: 8) { folder in
            #expect(try system("chown", "-R", "65534:65534", folder.path))
            func uploader(_ command: String, rest: String...) throws -> UploaderProcess.Result {
                try UploaderProcess(
                    [command, "--database", "a.sqlite", "--to", "dir:remote", "--json"] + rest, in: folder,
                    through: ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
                ).wait()
            }
            #expect(try uploader("push", rest: "--copy", "files").status == 0)
            let entry = try #require(TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite")).first)
            let object = folder.appendingPathComponent("remote/\(entry.key)").path
            #expect(try system("chmod", "000", object))
            let run = try uploader("verify", rest: "--read-data=50%")
            // The comparison also needs the object for the listing, and stops with an error.
            #expect(run.status == 1, "\(run.messages)")
            let unread = run.events.filter { $0["event"] as? String == "unread" }
            #expect(unread.compactMap { $0["path"] as? String } == [entry.path], "\(run.output)")
            // Half of the objects were read in the same run.
            let notes = "uploader_reading WHERE readAt > 0"
            #expect(try TestDatabase.count(notes, in: folder.appendingPathComponent("a.sqlite")) == 4)
            #expect(try system("chmod", "400", object))
            let next = try uploader("verify", rest: "--read-data=10%")
            #expect(next.status == 0, "\(next.output)")
            #expect(next.summary?["neverRead"] as? Int == 3)
        }
    }

    @Test("An invalid share of --read-data is refused with advice", arguments: ["0%", "101%", "0/3", "4/3", "10", "x"])
    func wrong(share: String) throws {
        try withFolder { folder in
            let run = try verify("--read-data=\(share)", in: folder)
            #expect(run.status == 64)
            #expect(run.messages.contains("Write it as 10%, as 1/10, or as a size such as 20GiB."), "\(run.messages)")
        }
    }

    @Test("A lost file is reported with the advice to push its original")
    func words() throws {
        try withFolder(files: 2) { folder in
            #expect(try DamagedStorage.uploader("push", arguments: ["--copy", "files"], in: folder).status == 0)
            let entry = try #require(TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite")).first)
            #expect(try UploaderProcess.run("free", "--database", "a.sqlite", in: folder).status == 0)
            try FileManager.default.removeItem(at: folder.appendingPathComponent("remote/\(entry.key)"))
            let original = URL(fileURLWithPath: entry.path)
            let aside = folder.appendingPathComponent("aside")
            func words(_ arguments: String...) throws -> UploaderProcess.Result {
                try UploaderProcess(
                    ["verify", "--database", "a.sqlite", "--to", "dir:remote"] + arguments, in: folder
                ).wait()
            }
            let found = try words().output
            #expect(found.contains("--repair takes its original, if that has these bytes"), "\(found)")
            #expect(found.contains(" lost unless their originals exist"), "\(found)")
            try FileManager.default.moveItem(at: original, to: aside)
            #expect(try words("--repair").output.contains("Recorded as lost. A push of its original repairs it"))
            let known = try words("--repair")
            #expect(known.status == 0)
            #expect(known.output.contains("Known. A push of its original repairs it"))
            #expect(known.output.contains(" lost, in "), "\(known.output)")
            #expect(!known.output.contains("cannot be repaired"))
            try FileManager.default.moveItem(at: aside, to: original)
            let healed = try words("--repair")
            #expect(healed.output.contains("An original has the correct bytes. Being uploaded."), "\(healed.output)")
            #expect(healed.output.contains("1 repaired"))
            #expect(try words("--read-data").output.contains("nothing found"))
        }
    }
}

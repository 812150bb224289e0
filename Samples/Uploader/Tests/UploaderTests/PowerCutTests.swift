import Foundation
import Testing

@Suite("Power cuts", .serialized, .timeLimit(.minutes(10)))
struct PowerCutTests {
    /// The number of power cuts. `LFS_POWER_CUTS` sets another number.
    private static let cuts = Int(ProcessInfo.processInfo.environment["LFS_POWER_CUTS"] ?? "") ?? 8

    /// A file system that is shut down keeps the synced data and loses the rest, as after a power cut. The test does
    /// not cover a disk that misreports its cache.
    @Test(
        "Attached files survive a power cut, and resume uploads them",
        .enabled(if: isRoot, "needs root to mount"))
    func powerCut() throws {
        var acknowledged = 0
        var lostControls = 0
        for round in 0..<Self.cuts {
            try withFolder(files: 300) { folder in
                let disk = try TestDisk(in: folder)
                let database = disk.mount.appendingPathComponent("a.sqlite")
                let copies = round.isMultiple(of: 2) ? ["--copy"] : []
                let push = try UploaderProcess(
                    ["push", "--database", database.path, "--to", "dir:remote", "--json"] + copies + ["files"],
                    in: folder)
                while push.process.isRunning, try !push.outputSoFar().contains("attached") { sched_yield() }
                usleep(UInt32.random(in: 0..<60_000))
                // The control is a file without an fsync (Foundation would sync it). If it survives, the simulated cut
                // has no effect.
                let control = disk.mount.appendingPathComponent("control")
                #expect(try system("cp", folder.appendingPathComponent("files/0.bin").path, control.path))
                // Uses only the output before the cut. The process keeps running after this cut, and an fsync in
                // progress can return success although its transaction is lost: jbd2 forgets an aborted transaction,
                // also for a C program of ten lines. In a real power cut, no process could report that success.
                let told = try push.resultSoFar()
                try disk.cutPower()
                _ = try push.wait()
                // The disk is unmounted completely. Otherwise the page cache would still contain data that never
                // reached the disk.
                try disk.remove()
                try disk.restart()
                lostControls += (try? Data(contentsOf: control).count) == 10_240 ? 0 : 1

                let ids = told.events.compactMap { $0["event"] as? String == "attached" ? $0["id"] as? String : nil }
                acknowledged += ids.count
                if FileManager.default.fileExists(atPath: database.path) {
                    try check(folder, database: database, acknowledged: Set(ids), round: "round \(round)")
                } else {
                    #expect(ids.isEmpty, "round \(round)")
                }
                try disk.remove()
            }
        }
        print("power cuts: \(Self.cuts), files acknowledged before: \(acknowledged), controls lost: \(lostControls)")
        #expect(acknowledged > 0)
        #expect(lostControls == Self.cuts, "The control survived: the cut shows nothing.")
    }

    @Test("Pulled files survive a power cut after the end of the pull", .enabled(if: isRoot, "needs root to mount"))
    func pull() throws {
        try withFolder(files: 100) { folder in
            let push = ["push", "--copy", "--database", "a.sqlite", "--to", "dir:remote", "files"]
            try #require(try UploaderProcess(push, in: folder).wait().status == 0)
            let disk = try TestDisk(in: folder)
            let output = disk.mount.appendingPathComponent("new/out")
            let pull = ["pull", "--database", "a.sqlite", "--to", "dir:remote", "--all", "--output", output.path]
            #expect(try UploaderProcess(pull, in: folder).wait().status == 0)
            let control = disk.mount.appendingPathComponent("control")
            #expect(try system("cp", folder.appendingPathComponent("files/0.bin").path, control.path))
            try disk.cutPower()
            try disk.remove()
            try disk.restart()
            #expect((try? Data(contentsOf: control).count) != 10_240, "The control survived: the cut shows nothing.")
            let pulled = output.appendingPathComponent("files").path
            #expect(try system("diff", "-r", folder.appendingPathComponent("files").path, pulled))
            try disk.remove()
        }
    }

    private func check(_ folder: URL, database: URL, acknowledged: Set<String>, round: String) throws {
        let resumed = try UploaderProcess.run("resume", "--database", database.path, "--to", "dir:remote", in: folder)
        #expect(resumed.status == 0 || acknowledged.isEmpty, "\(round): \(resumed.messages)")
        guard resumed.status == 0 else { return }
        let entries = try TestDatabase.entries(in: database)
        #expect(acknowledged.isSubset(of: entries.map(\.id)), "\(round)")
        for entry in entries {
            #expect(entry.status == "remote", "\(round)")
            let object = try Data(contentsOf: folder.appendingPathComponent("remote/\(entry.key)"))
            #expect(object == (try Data(contentsOf: URL(fileURLWithPath: entry.path))), "\(round)")
        }
        let temporary = database.path + ".lfs/temporary"
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary).isEmpty, "\(round)")
    }
}

/// An ext4 file system in an image file, with a simulated power switch.
struct TestDisk {
    let mount: URL
    private let image: URL
    private let copy: URL

    init(in folder: URL) throws {
        image = folder.appendingPathComponent("disk.img")
        copy = folder.appendingPathComponent("copy.img")
        mount = folder.appendingPathComponent("disk")
        try FileManager.default.createDirectory(at: mount, withIntermediateDirectories: true)
        try #require(try system("truncate", "-s", "256M", image.path))
        try #require(try system("mkfs.ext4", "-q", "-F", image.path))
        try #require(try system("mount", "-o", "loop", image.path, mount.path))
    }

    func cutPower() throws { try #require(try system("xfs_io", "-x", "-c", "shutdown", mount.path)) }

    /// Mounts a copy of the image. The file system of the image itself may still be shut down: it exists as long as
    /// any process has it mounted, and a process with its own mounts, as other tests start them, has a copy of each
    /// mount.
    func restart() throws {
        try #require(try system("cp", "--sparse=always", image.path, copy.path))
        try #require(try system("mount", "-o", "loop", copy.path, mount.path))
    }

    func remove() throws { try #require(try system("umount", mount.path)) }
}

import Foundation
import Testing

@Suite("The power goes", .serialized, .timeLimit(.minutes(10)))
struct PowerCutTests {
    /// `LFS_POWER_CUTS` sets another number.
    private static let cuts = Int(ProcessInfo.processInfo.environment["LFS_POWER_CUTS"] ?? "") ?? 8

    /// A file system that is shut down keeps what was synced and loses the rest, as after a power cut. It does not show
    /// a disk that lies about its cache.
    @Test(
        "What was reported as attached is there after a power cut, whole, and resume uploads it",
        .enabled(if: isRoot, "needs root to mount"))
    func powerCut() throws {
        var acknowledged = 0
        var lostControls = 0
        for round in 0..<Self.cuts {
            try withFolder(files: 300) { folder in
                let disk = try TestDisk(in: folder)
                let database = disk.mount.appendingPathComponent("a.sqlite")
                let push = try UploaderProcess(
                    ["push", "--database", database.path, "--to", "dir:remote", "--json", "files"], in: folder)
                while push.process.isRunning, try !push.outputSoFar().contains("attached") { sched_yield() }
                usleep(UInt32.random(in: 0..<60_000))
                // The control: bytes that nobody synced (Foundation would). If they survive, the cut cuts nothing.
                let control = disk.mount.appendingPathComponent("control")
                #expect(try system("cp", folder.appendingPathComponent("files/0.bin").path, control.path))
                // Only what was told by now. This cut leaves the process its power, and an fsync that is under way at
                // that moment can return success without a transaction behind it: jbd2 forgets an aborted one, also
                // for a C program of ten lines. Without power, nobody would have been told.
                let told = try push.resultSoFar()
                try disk.cutPower()
                _ = try push.wait()
                // Unmounted for good, or the page cache would bring back what the disk never got.
                try disk.remove()
                try disk.restart()
                lostControls += (try? Data(contentsOf: control).count) == 10_240 ? 0 : 1

                let ids = told.events.compactMap { $0["event"] as? String == "attached" ? $0["id"] as? String : nil }
                acknowledged += ids.count
                if FileManager.default.fileExists(atPath: database.path) {
                    try check(folder, database, Set(ids), "round \(round)")
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

    private func check(_ folder: URL, _ database: URL, _ acknowledged: Set<String>, _ round: String) throws {
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

/// An ext4 file system in a file, with a switch for its power.
struct TestDisk {
    let mount: URL
    private let image: URL

    init(in folder: URL) throws {
        image = folder.appendingPathComponent("disk.img")
        mount = folder.appendingPathComponent("disk")
        try FileManager.default.createDirectory(at: mount, withIntermediateDirectories: true)
        try #require(try system("truncate", "-s", "256M", image.path))
        try #require(try system("mkfs.ext4", "-q", "-F", image.path))
        try restart()
    }

    func cutPower() throws { try #require(try system("xfs_io", "-x", "-c", "shutdown", mount.path)) }

    func restart() throws { try #require(try system("mount", "-o", "loop", image.path, mount.path)) }
    func remove() throws { try #require(try system("umount", mount.path)) }
}

import Foundation
import Testing

@Suite("Kills at random moments", .serialized, .timeLimit(.minutes(10)))
struct KillTests {
    /// A release is measured with 50 kills. `LFS_KILLS` sets another number.
    private static let kills = Int(ProcessInfo.processInfo.environment["LFS_KILLS"] ?? "") ?? 50

    @Test("After a kill, resume uploads every committed file and leaves no leftovers")
    func kill() throws {
        var killedInTime = 0
        var round = 0
        // On a fast machine, more kills come too late to show anything.
        while round < Self.kills || killedInTime <= Self.kills / 4 {
            try withFolder(files: 250) { folder in
                let location = round.isMultiple(of: 2) ? [] : ["--persistence-location", "staging"]
                let copies = round % 4 < 2
                let options = location + (copies ? ["--copy"] : [])
                let push = ["push", "--database", "a.sqlite", "--to", "dir:remote"] + options + ["files"]
                let run = try UploaderProcess(push, in: folder)
                // The kill comes at any moment from before the first file until after the last.
                let delay = Int.random(in: 0..<450_000)
                usleep(UInt32(delay))
                Foundation.kill(run.process.processIdentifier, SIGKILL)
                if try run.wait().status == 128 + SIGKILL { killedInTime += 1 }
                try check(folder, copies: copies, round: "round \(round), killed after \(delay) µs")
            }
            round += 1
        }
        print("killed in time: \(killedInTime) of \(round)")
    }

    private func check(_ folder: URL, copies: Bool, round: String) throws {
        let database = folder.appendingPathComponent("a.sqlite")
        guard try TestDatabase.hasTable("uploader_document", in: database) else { return }
        let committed = try TestDatabase.entries(in: database)
        let resumed = try UploaderProcess.run("resume", "--database", "a.sqlite", "--to", "dir:remote", in: folder)
        #expect(resumed.status == 0, "\(round): \(resumed.messages)")
        let after = try TestDatabase.entries(in: database)
        #expect(after.count == committed.count, "\(round)")
        #expect(try TestDatabase.count("lfs_file", in: database) == committed.count, "\(round)")
        for entry in after {
            #expect(entry.status == "remote", "\(round)")
            let object = try Data(contentsOf: folder.appendingPathComponent("remote/\(entry.key)"))
            #expect(object == (try Data(contentsOf: URL(fileURLWithPath: entry.path))), "\(round)")
        }
        // No bytes exist without a record, neither in staging nor in the local store nor on the storage. Originals in
        // place have no local copies.
        let ids = Set(after.map(\.id))
        #expect(try names(folder, path: "a.sqlite.lfs/temporary").isEmpty, "\(round)")
        #expect(try names(folder, path: "staging").isEmpty, "\(round)")
        #expect(try names(folder, path: "a.sqlite.lfs") == (copies ? ids : []), "\(round)")
        #expect(try names(folder, path: "remote") == ids, "\(round)")
    }

    /// Returns the names of all files below a folder except the uploader's lock and marker files.
    private func names(_ folder: URL, path: String) throws -> Set<String> {
        let root = folder.appendingPathComponent(path)
        guard FileManager.default.fileExists(atPath: root.path) else { return [] }
        let ours: Set = ["lfs.json", "attached.lock", "uploader.lock", "staging.json", "staging.lock", "spare"]
        let files = try FileManager.default.subpathsOfDirectory(atPath: root.path).filter { sub in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: root.appendingPathComponent(sub).path, isDirectory: &isFolder)
                && !isFolder.boolValue
        }
        return Set(files.map { ($0 as NSString).lastPathComponent }).subtracting(ours)
    }
}

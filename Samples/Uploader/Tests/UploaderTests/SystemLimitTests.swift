import Foundation
import LFS
import Testing
import UploaderKit

/// A system with few resources, and file systems without common features.
@Suite("Pushes with limited system resources", .timeLimit(.minutes(10)))
struct SystemLimitTests {
    private func push(
        _ folder: URL, through wrapper: [String] = [], faults: [String: String] = [:], arguments: [String] = []
    ) throws -> UploaderProcess.Result {
        var environment = faults
        if !faults.isEmpty { environment["LD_PRELOAD"] = try Faults.path.get() }
        return try UploaderProcess(
            ["push", "--database", "a.sqlite", "--to", "dir:remote", "--json", "--give-up-after", "60s"] + arguments
                + ["files"],
            in: folder, through: wrapper, environment: environment
        ).wait()
    }

    private func expectAll(_ count: Int, run: UploaderProcess.Result) {
        #expect(run.status == 0, "\(run)")
        #expect(run.summary?["uploaded"] as? Int == count, "\(run)")
    }

    @Test("A push uploads every file with few open files", arguments: [64, 256, 400], [["--copy"], []])
    func openFiles(_ limit: Int, options: [String]) throws {
        try withFolder(files: 500, byteCount: 100) { folder in
            let run = try push(
                folder, through: ["/usr/bin/env", "prlimit", "--nofile=\(limit):\(limit)"], arguments: options)
            expectAll(500, run: run)
            #expect(!run.messages.contains("Too many open files"), "\(run)")
        }
    }

    @Test("A push uploads every file with few threads", arguments: [12, 16, 24])
    func threads(_ limit: Int) throws {
        try withFolder(files: 60) { folder in
            expectAll(60, run: try push(folder, faults: ["LFS_FAULT_THREADS": "\(limit)"]))
        }
    }

    @Test("A push with few threads ends after the first SIGTERM", arguments: [3, 5, 8])
    func termination(_ limit: Int) throws {
        try withFolder(files: 60) { folder in
            let wrapper = ["/usr/bin/env", "timeout", "--preserve-status", "--kill-after", "300", "2"]
            let run = try push(folder, through: wrapper, faults: ["LFS_FAULT_THREADS": "\(limit)"])
            #expect([0, 143].contains(run.status), "\(run)")
        }
    }

    @Test("A program that can create no threads ends at once with the reason", arguments: [1, 2])
    func missingThreads(_ limit: Int) throws {
        try withFolder(files: 1) { folder in
            let run = try push(folder, faults: ["LFS_FAULT_THREADS": "\(limit)"])
            #expect(run.status == 1, "\(run)")
            #expect(run.messages.contains("ulimit -u"), "\(run)")
        }
    }

    private func faults(_ variable: String, number: Int32, place: URL) -> [String: String] {
        [variable: "\(number)", "LFS_FAULT_ROOT": place.resolvingSymlinksInPath().path]
    }

    @Test("A storage folder that ignores file modes is written to", arguments: [EPERM, ENOTSUP, ENOSYS])
    func modes(_ number: Int32) throws {
        try withFolder(files: 20) { folder in
            let remote = folder.appendingPathComponent("remote")
            let run = try push(folder, faults: faults("LFS_FAULT_FCHMOD", number: number, place: remote))
            expectAll(20, run: run)
            #expect(run.messages.split(separator: "\n").filter { $0.contains("does not store permissions") }.count == 1)
        }
    }

    @Test("A database on a mount that gives all files to another user is used", arguments: [EPERM, ENOTSUP])
    func owners(_ number: Int32) throws {
        try withFolder(files: 20) { folder in
            var mount = faults("LFS_FAULT_FCHMOD", number: number, place: folder)
            mount["LFS_FAULT_OWNER"] = "\(geteuid() + 12_345)"
            expectAll(20, run: try push(folder, faults: mount, arguments: ["--save-database"]))
            // The second run finds the folders that the first one made.
            let second = try push(folder, faults: mount)
            #expect(second.status == 0, "\(second)")
            #expect(second.summary?["unchanged"] as? Int == 20, "\(second)")
        }
    }

    @Test("A killed pull to a mount that gives all files to another user is repeated")
    func leftPart() throws {
        try withFolder(files: 1) { folder in
            #expect(try push(folder).status == 0)
            let entry = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))[0]
            let out = folder.appendingPathComponent("out/files")
            try FileManager.default.createDirectory(at: out, withIntermediateDirectories: true)
            let name = (entry.path as NSString).lastPathComponent
            let part = PartName.of(Array(name.utf8), id: try #require(FileID(entry.id)))
            try Data([1]).write(to: out.appendingPathComponent(part))
            var mount = faults("LFS_FAULT_FCHMOD", number: EPERM, place: folder.appendingPathComponent("out"))
            mount["LFS_FAULT_OWNER"] = "\(geteuid() + 12_345)"
            mount["LD_PRELOAD"] = try Faults.path.get()
            let run = try UploaderProcess(
                ["pull", "--database", "a.sqlite", "--all", "--output", "out"], in: folder, environment: mount
            ).wait()
            #expect(run.status == 0, "\(run)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: out.path) == [name])
        }
    }

    @Test("A folder that does not support fsync causes a warning only", arguments: [EINVAL, ENOTSUP, ENOTTY])
    func folderSync(_ number: Int32) throws {
        try withFolder(files: 20) { folder in
            let run = try push(folder, faults: faults("LFS_FAULT_FSYNCDIR", number: number, place: folder))
            expectAll(20, run: run)
            #expect(run.messages.split(separator: "\n").filter { $0.contains("cannot sync a folder") }.count == 1)
        }
    }

    @Test("A device error in the fsync of a folder is a failure")
    func failedSync() throws {
        try withFolder(files: 1) { folder in
            let remote = folder.appendingPathComponent("remote")
            let run = try push(
                folder, faults: faults("LFS_FAULT_FSYNCDIR", number: EIO, place: remote),
                arguments: ["--give-up-after", "2s"])
            #expect(run.status != 0, "\(run)")
            #expect(run.summary?["uploaded"] as? Int ?? 0 == 0, "\(run)")
        }
    }

    @Test("A folder without file locks is reported at once", arguments: ["remote", "a.sqlite.lfs"], [ENOLCK, ENOSYS])
    func locks(_ place: String, number: Int32) throws {
        try withFolder(files: 20) { folder in
            let run = try push(
                folder, faults: faults("LFS_FAULT_FLOCK", number: number, place: folder.appendingPathComponent(place)))
            #expect(run.status == 1, "\(run)")
            #expect(run.messages.contains("without file locks"), "\(run)")
            #expect(run.messages.contains("Mount it with locks"), "\(run)")
        }
    }
}

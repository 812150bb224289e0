import Foundation
import Testing

/// A system that gives the process little, and file systems that lack what most have.
@Suite("A push with little help from the system", .timeLimit(.minutes(10)))
struct SystemLimitTests {
    private func push(
        _ folder: URL, through wrapper: [String] = [], faults: [String: String] = [:], _ arguments: [String] = []
    ) throws -> UploaderProcess.Result {
        var environment = faults
        if !faults.isEmpty { environment["LD_PRELOAD"] = try Faults.path.get() }
        return try UploaderProcess(
            ["push", "--database", "a.sqlite", "--to", "dir:remote", "--json", "--give-up-after", "60s"] + arguments
                + ["files"],
            in: folder, through: wrapper, environment: environment
        ).wait()
    }

    private func expectAll(_ count: Int, _ run: UploaderProcess.Result) {
        #expect(run.status == 0, "\(run)")
        #expect(run.summary?["uploaded"] as? Int == count, "\(run)")
    }

    @Test("Every file is uploaded where few files may be open", arguments: [64, 256, 400])
    func openFiles(_ limit: Int) throws {
        try withFolder(files: 500, byteCount: 100) { folder in
            let run = try push(folder, through: ["/usr/bin/env", "prlimit", "--nofile=\(limit):\(limit)"])
            expectAll(500, run)
            #expect(!run.messages.contains("Too many open files"), "\(run)")
        }
    }

    @Test("Every file is uploaded where few threads can be made", arguments: [12, 16, 24])
    func threads(_ limit: Int) throws {
        try withFolder(files: 60) { folder in
            expectAll(60, try push(folder, faults: ["LFS_FAULT_THREADS": "\(limit)"]))
        }
    }

    @Test("The first SIGTERM ends a push within ten seconds, whatever it hangs in", arguments: [3, 5, 8])
    func termination(_ limit: Int) throws {
        try withFolder(files: 60) { folder in
            let wrapper = ["/usr/bin/env", "timeout", "--preserve-status", "--kill-after", "11", "2"]
            let run = try push(folder, through: wrapper, faults: ["LFS_FAULT_THREADS": "\(limit)"])
            #expect([0, 143].contains(run.status), "\(run)")
        }
    }

    private func faults(_ variable: String, _ number: Int32, _ place: URL) -> [String: String] {
        [variable: "\(number)", "LFS_FAULT_ROOT": place.resolvingSymlinksInPath().path]
    }

    @Test("A storage folder whose files take no mode is written to", arguments: [EPERM, ENOTSUP, ENOSYS])
    func modes(_ number: Int32) throws {
        try withFolder(files: 20) { folder in
            let remote = folder.appendingPathComponent("remote")
            let run = try push(folder, faults: faults("LFS_FAULT_FCHMOD", number, remote))
            expectAll(20, run)
            #expect(run.messages.split(separator: "\n").filter { $0.contains("keeps no permissions") }.count == 1)
        }
    }

    @Test("A folder that cannot be synced is no failure", arguments: [EINVAL, ENOTSUP, ENOTTY])
    func folderSync(_ number: Int32) throws {
        try withFolder(files: 20) { folder in
            let run = try push(folder, faults: faults("LFS_FAULT_FSYNCDIR", number, folder))
            expectAll(20, run)
            #expect(run.messages.split(separator: "\n").filter { $0.contains("cannot sync a folder") }.count == 1)
        }
    }

    @Test("A folder whose sync fails with an error of its device is a failure")
    func failedSync() throws {
        try withFolder(files: 1) { folder in
            let remote = folder.appendingPathComponent("remote")
            let run = try push(
                folder, faults: faults("LFS_FAULT_FSYNCDIR", EIO, remote), ["--give-up-after", "2s"])
            #expect(run.status != 0, "\(run)")
            #expect(run.summary?["uploaded"] as? Int ?? 0 == 0, "\(run)")
        }
    }

    @Test("A place without file locks is reported at once", arguments: ["remote", "a.sqlite.lfs"], [ENOLCK, ENOSYS])
    func locks(_ place: String, _ number: Int32) throws {
        try withFolder(files: 20) { folder in
            let run = try push(folder, faults: faults("LFS_FAULT_FLOCK", number, folder.appendingPathComponent(place)))
            #expect(run.status == 1, "\(run)")
            #expect(run.messages.contains("without file locks"), "\(run)")
            #expect(run.messages.contains("Mount it with locks"), "\(run)")
        }
    }
}

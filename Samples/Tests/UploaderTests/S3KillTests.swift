import Foundation
import Testing

@Suite("An upload in parts, killed", .enabled(if: !S3Server.all.isEmpty), .serialized, .timeLimit(.minutes(30)))
struct S3KillTests {
    private static let environment = ProcessInfo.processInfo.environment
    /// 1,024 is what a release is measured by.
    private static let mebibytes = environment["LFS_S3_KILL_MIB"].flatMap { Int($0) } ?? 48
    private static let partMebibytes = environment["LFS_S3_KILL_PART_MIB"].flatMap { Int($0) } ?? 6
    /// rclone's server takes no part a second time.
    private static let servers = S3Server.all.filter { $0.name != "rclone" }
    /// How many parts are under way at once; the library's default.
    private static let lanes = 6

    @Test("After each of its parts in turn, resume sends what is missing and no more", arguments: servers)
    func kill(_ server: S3Server) throws {
        let bucket = "lfs-kill-\(UInt32.random(in: 0...UInt32.max))"
        try server.curl("PUT", "/\(bucket)")
        try withFolder { folder in
            let file = folder.appendingPathComponent("files/large.bin")
            try randomData(Self.mebibytes << 20).write(to: file)
            let parts = (Self.mebibytes + Self.partMebibytes - 1) / Self.partMebibytes
            var killed = 0
            for part in 1...parts {
                if try round(part, folder, file, server, bucket) { killed += 1 }
            }
            // The last parts of a round may all be there before the kill arrives.
            #expect(killed > parts / 2, "the kills came too late to show anything: \(killed) of \(parts)")
            let open = String(decoding: try server.curl("GET", "/\(bucket)?uploads="), as: UTF8.self)
            #expect(open.contains("ListMultipartUploadsResult") && !open.contains("<UploadId>"), "\(open)")
            print("killed in time: \(killed) of \(parts) rounds, \(Self.mebibytes) MiB in \(parts) parts")
        }
    }

    /// Kills one upload after a number of parts, resumes it, and checks. Returns whether the kill came in time.
    private func round(
        _ part: Int, _ folder: URL, _ file: URL, _ server: S3Server, _ bucket: String
    ) throws -> Bool {
        let proxy = try CountingProxy(to: server.endpoint)
        defer { proxy.close() }
        let database = "\(part).sqlite"
        let options = [
            "--database", database, "--to", server.storage(bucket, "round-\(part)", endpoint: proxy.url),
            "--part-size", "\(Self.partMebibytes)MiB", "--progress", "none",
        ]
        let push = try UploaderProcess(
            ["push"] + options + ["files"], in: folder, environment: server.environment)
        while push.process.isRunning, try finishedParts(folder.appendingPathComponent(database)) < part {
            usleep(2_000)
        }
        Foundation.kill(push.process.processIdentifier, SIGKILL)
        let pushed = try push.wait()
        let isKilled = pushed.status == 128 + SIGKILL
        #expect(isKilled || pushed.status == 0, "part \(part): \(pushed.status) \(pushed.messages)")
        let resumed = try UploaderProcess(["resume"] + options, in: folder, environment: server.environment).wait()
        #expect(resumed.status == 0, "part \(part): \(resumed.messages)")

        let entry = try #require(try TestDatabase.entries(in: folder.appendingPathComponent(database)).first)
        #expect(entry.status == "remote", "part \(part)")
        let copy = folder.appendingPathComponent("copy")
        try server.curl("GET", "/\(bucket)/round-\(part)/\(entry.key)", to: copy)
        #expect(try system("cmp", copy.path, file.path), "part \(part): the object has other bytes")
        // What was under way when the process ended goes out again, and some kilobytes of requests.
        let again = proxy.sentBytes - (Self.mebibytes << 20)
        #expect(again <= ((Self.lanes * Self.partMebibytes + 1) << 20), "part \(part): \(again) bytes were sent again")
        try server.curl("DELETE", "/\(bucket)/round-\(part)/\(entry.key)")
        return isKilled
    }

    /// How many parts the job's checkpoint holds. Before its JSON stands the place that it is of.
    private func finishedParts(_ database: URL) throws -> Int {
        guard try TestDatabase.hasTable("lfs_job", in: database) else { return 0 }
        return try TestDatabase.count(
            """
            (SELECT json_each.key FROM lfs_job, json_each(
                CAST(substr(lfs_job.checkpoint, instr(lfs_job.checkpoint, X'7B')) AS TEXT), '$.parts'))
            """, in: database)
    }
}

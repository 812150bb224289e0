import Foundation
import Testing

@Suite("Killed multipart uploads", .enabled(if: !S3Server.all.isEmpty), .serialized, .timeLimit(.minutes(30)))
struct S3KillTests {
    private static let environment = ProcessInfo.processInfo.environment
    /// The size of the file. A release is measured with 1,024.
    private static let mebibytes = environment["LFS_S3_KILL_MIB"].flatMap { Int($0) } ?? 48
    private static let partMebibytes = environment["LFS_S3_KILL_PART_MIB"].flatMap { Int($0) } ?? 6
    /// The server of rclone does not accept a part twice.
    private static let servers = S3Server.all.filter { $0.name != "rclone" }
    /// The number of concurrent parts, which is the library's default.
    private static let lanes = 6

    @Test("Resume sends only the missing parts after a kill at each part", arguments: servers)
    func kill(_ server: S3Server) throws {
        let bucket = "lfs-kill-\(UInt32.random(in: 0...UInt32.max))"
        try server.curl("PUT", path: "/\(bucket)")
        try withFolder { folder in
            let file = folder.appendingPathComponent("files/large.bin")
            try randomData(Self.mebibytes << 20).write(to: file)
            let parts = (Self.mebibytes + Self.partMebibytes - 1) / Self.partMebibytes
            var killed = 0
            for part in 1...parts {
                if try round(part, folder: folder, file: file, server: server, bucket: bucket) { killed += 1 }
            }
            // In the last rounds, all parts may have arrived before the kill.
            #expect(killed > parts / 2, "the kills came too late to show anything: \(killed) of \(parts)")
            let open = String(decoding: try server.curl("GET", path: "/\(bucket)?uploads="), as: UTF8.self)
            #expect(open.contains("ListMultipartUploadsResult") && !open.contains("<UploadId>"), "\(open)")
            print("killed in time: \(killed) of \(parts) rounds, \(Self.mebibytes) MiB in \(parts) parts")
        }
    }

    /// Kills one upload after a number of parts, resumes it, and checks the object. Returns true if the kill came in
    /// time.
    private func round(
        _ part: Int, folder: URL, file: URL, server: S3Server, bucket: String
    ) throws -> Bool {
        let proxy = try CountingProxy(to: server.endpoint)
        defer { proxy.close() }
        let database = "\(part).sqlite"
        let options = [
            "--database", database, "--to", server.storage(bucket, prefix: "round-\(part)", endpoint: proxy.url),
            "--part-size", "\(Self.partMebibytes)MiB", "--progress", "none",
        ]
        let push = try UploaderProcess(
            ["push"] + options + ["--limit-rate", "24MiB", "files"], in: folder, environment: server.environment)
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
        try server.curl("GET", path: "/\(bucket)/round-\(part)/\(entry.key)", to: copy)
        #expect(try system("cmp", copy.path, file.path), "part \(part): the object has other bytes")
        // The parts in progress at the kill are sent again, with some kilobytes of requests.
        let again = proxy.sentBytes - (Self.mebibytes << 20)
        #expect(again <= ((Self.lanes * Self.partMebibytes + 1) << 20), "part \(part): \(again) bytes were sent again")
        try server.curl("DELETE", path: "/\(bucket)/round-\(part)/\(entry.key)")
        return isKilled
    }

    /// Returns the number of parts in the job's checkpoint. The checkpoint has its location before the JSON.
    private func finishedParts(_ database: URL) throws -> Int {
        guard try TestDatabase.hasTable("lfs_job", in: database) else { return 0 }
        return try TestDatabase.count(
            """
            (SELECT json_each.key FROM lfs_job, json_each(
                CAST(substr(lfs_job.checkpoint, instr(lfs_job.checkpoint, X'7B')) AS TEXT), '$.parts'))
            """, in: database)
    }
}

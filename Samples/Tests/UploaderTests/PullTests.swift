import Foundation
import Testing

@Suite("Pulling a large file", .serialized, .timeLimit(.minutes(10)))
struct PullTests {
    private static let mebibytes = 96

    /// Pushes one large file, and leaves a copy of the database that has none of its bytes.
    private func pushed(_ folder: URL, _ storage: String, _ environment: [String: String] = [:]) throws
        -> TestDatabase.Entry
    {
        try randomData(Self.mebibytes << 20).write(to: folder.appendingPathComponent("files/large.bin"))
        let push = try UploaderProcess(
            ["push", "--database", "a.sqlite", "--to", storage, "--progress", "none", "files"], in: folder,
            environment: environment
        ).wait()
        try #require(push.status == 0, "\(push.messages)")
        let copy = folder.appendingPathComponent("b.sqlite")
        try TestDatabase.copy(folder.appendingPathComponent("a.sqlite"), to: copy)
        return try #require(try TestDatabase.entries(in: copy).first)
    }

    private func pull(
        _ folder: URL, _ storage: String, _ environment: [String: String] = [:]
    ) throws -> UploaderProcess {
        try UploaderProcess(
            ["pull", "--database", "b.sqlite", "--to", storage, "--all", "--output", "out", "--json"], in: folder,
            environment: environment)
    }

    /// Kills a pull in the middle of the file. Returns how many bytes it had by then.
    private func killedPull(
        _ folder: URL, _ id: String, _ storage: String, _ environment: [String: String] = [:]
    ) throws -> Int {
        let part = folder.appendingPathComponent("b.sqlite.lfs/incoming/\(id).part")
        let run = try pull(folder, storage, environment)
        while run.process.isRunning, size(part) < 8 << 20 { usleep(200) }
        Foundation.kill(run.process.processIdentifier, SIGKILL)
        try #require(try run.wait().status == 128 + SIGKILL, "the kill came too late to show anything")
        let count = size(part)
        #expect(count >= 8 << 20 && count < Self.mebibytes << 20)
        #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("out/files/large.bin").path))
        return count
    }

    private func size(_ file: URL) -> Int {
        var status = stat()
        return stat(file.path, &status) == 0 ? Int(status.st_size) : 0
    }

    private func check(_ folder: URL, _ result: UploaderProcess.Result, from count: Int) throws {
        #expect(result.status == 0, "\(result.messages)")
        let (pulled, original) = (folder.appendingPathComponent("out/files/large.bin"), "files/large.bin")
        #expect(try system("cmp", pulled.path, folder.appendingPathComponent(original).path))
        let progress = result.events.filter { $0["event"] as? String == "progress" }
        #expect(progress.first?["bytes"] as? Int == count, "it begins where the killed one ended")
        #expect(progress.allSatisfy { $0["totalBytes"] as? Int == Self.mebibytes << 20 })
        #expect(result.events.contains { $0["event"] as? String == "pulled" })
        for name in ["incoming", ""] {
            let left = try FileManager.default.contentsOfDirectory(
                atPath: folder.appendingPathComponent("b.sqlite.lfs/\(name)").path)
            #expect(left.allSatisfy { $0.count != 36 && !$0.hasSuffix(".part") && !$0.hasSuffix(".tag") }, "\(left)")
        }
    }

    @Test("After kill -9 a pull goes on with the bytes that are missing")
    func killFolder() throws {
        try withFolder { folder in
            let entry = try pushed(folder, "dir:remote")
            let count = try killedPull(folder, entry.id, "dir:remote")
            // Whoever fetched the first bytes again would get others now, under the same entity tag.
            let object = folder.appendingPathComponent("remote/\(entry.key)")
            #expect(try system("touch", "-r", object.path, folder.appendingPathComponent("time").path))
            let handle = try FileHandle(forUpdating: object)
            try handle.write(contentsOf: randomData(1 << 20))
            try handle.close()
            #expect(try system("touch", "-r", folder.appendingPathComponent("time").path, object.path))
            try check(folder, try pull(folder, "dir:remote").wait(), from: count)
        }
    }

    @Test("What was cut off and has rotted meanwhile is fetched again as a whole")
    func rottenPartial() throws {
        try withFolder { folder in
            let entry = try pushed(folder, "dir:remote")
            let count = try killedPull(folder, entry.id, "dir:remote")
            let handle = try FileHandle(
                forUpdating: folder.appendingPathComponent("b.sqlite.lfs/incoming/\(entry.id).part"))
            try handle.seek(toOffset: UInt64.random(in: 0..<UInt64(count - 8)))
            try handle.write(contentsOf: randomData(8))
            try handle.close()
            try check(folder, try pull(folder, "dir:remote").wait(), from: count)
        }
    }

    @Test("A pull of bytes that are not the recorded ones writes nothing")
    func wrongBytes() throws {
        try withFolder { folder in
            let entry = try pushed(folder, "dir:remote")
            let handle = try FileHandle(forUpdating: folder.appendingPathComponent("remote/\(entry.key)"))
            try handle.write(contentsOf: randomData(8))
            try handle.close()
            let result = try pull(folder, "dir:remote").wait()
            #expect(result.status == 3)
            #expect(result.events.contains { $0["event"] as? String == "failed" })
            #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("out/files/large.bin").path))
        }
    }

    @Test(
        "After kill -9 a pull from a server fetches what is missing and no more",
        .enabled(if: !S3Server.all.isEmpty), arguments: S3Server.all)
    func killServer(_ server: S3Server) throws {
        let bucket = "lfs-pull-\(UInt32.random(in: 0...UInt32.max))"
        try server.curl("PUT", "/\(bucket)")
        try withFolder { folder in
            let storage = server.storage(bucket, "pull")
            let entry = try pushed(folder, storage, server.environment)
            let count = try killedPull(folder, entry.id, storage, server.environment)
            let proxy = try CountingProxy(to: server.endpoint)
            defer { proxy.close() }
            let through = server.storage(bucket, "pull", endpoint: proxy.url)
            try check(folder, try pull(folder, through, server.environment).wait(), from: count)
            let missing = (Self.mebibytes << 20) - count
            #expect(
                (missing...missing + (64 << 10)).contains(proxy.receivedBytes), "\(proxy.receivedBytes) of \(missing)")
            print("killed at \(count) bytes, fetched \(proxy.receivedBytes) for the \(missing) that were missing")
            try server.curl("DELETE", "/\(bucket)/pull/\(entry.key)")
        }
    }
}

import Foundation
import Testing

@Suite("Pulling a large file", .serialized, .timeLimit(.minutes(10)))
struct PullTests {
    private static let mebibytes = 96

    /// Pushes one large file, and creates a copy of the database that has no local bytes.
    private func pushed(_ folder: URL, storage: String, environment: [String: String] = [:]) throws
        -> TestDatabase.Entry
    {
        try randomData(Self.mebibytes << 20).write(to: folder.appendingPathComponent("files/large.bin"))
        let push = try UploaderProcess(
            ["push", "--copy", "--database", "a.sqlite", "--to", storage, "--progress", "none", "files"], in: folder,
            environment: environment
        ).wait()
        try #require(push.status == 0, "\(push.messages)")
        try copyDatabase(in: folder)
        return try #require(try TestDatabase.entries(in: folder.appendingPathComponent("b.sqlite")).first)
    }

    private func pull(
        _ folder: URL, storage: String, environment: [String: String] = [:]
    ) throws -> UploaderProcess {
        try UploaderProcess(
            ["pull", "--database", "b.sqlite", "--to", storage, "--all", "--output", "out", "--json"], in: folder,
            environment: environment)
    }

    /// Kills a pull in the middle of the file. Returns the number of bytes that it had received.
    ///
    /// A kill may come after the last byte, when the partial file may have its final name. Then everything is removed,
    /// and another pull is killed.
    private func killedPull(
        _ folder: URL, id: String, storage: String, environment: [String: String] = [:]
    ) throws -> Int {
        let part = folder.appendingPathComponent("b.sqlite.lfs/incoming/\(id).part")
        let pulled = folder.appendingPathComponent("out/files/large.bin")
        while true {
            let run = try pull(folder, storage: storage, environment: environment)
            while run.process.isRunning, size(part) < 8 << 20 { usleep(200) }
            Foundation.kill(run.process.processIdentifier, SIGKILL)
            let status = try run.wait().status
            try #require(status == 0 || status == 128 + SIGKILL)
            let count = size(part)
            let isPart = (8 << 20..<Self.mebibytes << 20).contains(count)
            if status != 0, isPart, !FileManager.default.fileExists(atPath: pulled.path) { return count }
            let made = ["b.sqlite", "b.sqlite-wal", "b.sqlite-shm", "b.sqlite.lfs", "out"]
            for name in made { try? FileManager.default.removeItem(at: folder.appendingPathComponent(name)) }
            try copyDatabase(in: folder)
        }
    }

    /// Makes the database of another device.
    private func copyDatabase(in folder: URL) throws {
        try TestDatabase.copy(
            folder.appendingPathComponent("a.sqlite"), to: folder.appendingPathComponent("b.sqlite"))
    }

    private func size(_ file: URL) -> Int {
        var status = stat()
        return stat(file.path, &status) == 0 ? Int(status.st_size) : 0
    }

    private func check(_ folder: URL, result: UploaderProcess.Result, from count: Int) throws {
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

    @Test("A pull continues with the missing bytes after a kill")
    func killFolder() throws {
        try withFolder { folder in
            let entry = try pushed(folder, storage: "dir:remote")
            let count = try killedPull(folder, id: entry.id, storage: "dir:remote")
            // If the next pull read the first bytes again, it would get different ones under the same entity tag.
            let object = folder.appendingPathComponent("remote/\(entry.key)")
            #expect(try system("touch", "-r", object.path, folder.appendingPathComponent("time").path))
            let handle = try FileHandle(forUpdating: object)
            try handle.write(contentsOf: randomData(1 << 20))
            try handle.close()
            #expect(try system("touch", "-r", folder.appendingPathComponent("time").path, object.path))
            try check(folder, result: try pull(folder, storage: "dir:remote").wait(), from: count)
        }
    }

    @Test("A pull restarts from the beginning if the partial download was damaged")
    func rottenPartial() throws {
        try withFolder { folder in
            let entry = try pushed(folder, storage: "dir:remote")
            let count = try killedPull(folder, id: entry.id, storage: "dir:remote")
            let handle = try FileHandle(
                forUpdating: folder.appendingPathComponent("b.sqlite.lfs/incoming/\(entry.id).part"))
            try handle.seek(toOffset: UInt64.random(in: 0..<UInt64(count - 8)))
            try handle.write(contentsOf: randomData(8))
            try handle.close()
            try check(folder, result: try pull(folder, storage: "dir:remote").wait(), from: count)
        }
    }

    @Test("A pull of bytes other than the recorded ones writes no file")
    func wrongBytes() throws {
        try withFolder { folder in
            let entry = try pushed(folder, storage: "dir:remote")
            let handle = try FileHandle(forUpdating: folder.appendingPathComponent("remote/\(entry.key)"))
            try handle.write(contentsOf: randomData(8))
            try handle.close()
            let result = try pull(folder, storage: "dir:remote").wait()
            #expect(result.status == 3)
            #expect(result.events.contains { $0["event"] as? String == "failed" })
            #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("out/files/large.bin").path))
        }
    }

    @Test(
        "A pull from a server downloads only the missing bytes after a kill",
        .enabled(if: !S3Server.all.isEmpty), arguments: S3Server.all)
    func killServer(_ server: S3Server) throws {
        let bucket = "lfs-pull-\(UInt32.random(in: 0...UInt32.max))"
        try server.curl("PUT", path: "/\(bucket)")
        try withFolder { folder in
            let storage = server.storage(bucket, prefix: "pull")
            let entry = try pushed(folder, storage: storage, environment: server.environment)
            let count = try killedPull(folder, id: entry.id, storage: storage, environment: server.environment)
            let proxy = try CountingProxy(to: server.endpoint)
            defer { proxy.close() }
            let through = server.storage(bucket, prefix: "pull", endpoint: proxy.url)
            try check(
                folder, result: try pull(folder, storage: through, environment: server.environment).wait(), from: count)
            let missing = (Self.mebibytes << 20) - count
            #expect(
                (missing...missing + (64 << 10)).contains(proxy.receivedBytes), "\(proxy.receivedBytes) of \(missing)")
            print("killed at \(count) bytes, fetched \(proxy.receivedBytes) for the \(missing) that were missing")
            try server.curl("DELETE", path: "/\(bucket)/pull/\(entry.key)")
        }
    }
}

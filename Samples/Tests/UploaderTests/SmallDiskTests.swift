import Foundation
import Testing

@Suite(
    "A disk that is smaller than what is pushed", .enabled(if: isRoot, "needs root to mount"), .timeLimit(.minutes(10)))
struct SmallDiskTests {
    /// A folder of files, and a small disk for the database and the copies beside it.
    private struct Small {
        let folder: URL
        let database: URL
        var files: URL { folder.appendingPathComponent("files") }

        func push(_ words: String...) throws -> UploaderProcess.Result {
            try UploaderProcess(
                ["push", "--database", database.path, "--to", "dir:remote", "--json", "--give-up-after", "30s"] + words
                    + ["files"], in: folder
            ).wait()
        }

        /// Whether what is on the storage is what the originals were.
        func isRemote(_ contents: [String: Data]) throws -> Bool {
            let entries = try TestDatabase.entries(in: database)
            return try entries.count == contents.count
                && entries.allSatisfy { entry in
                    let object = folder.appendingPathComponent("remote/\(entry.key)")
                    return try entry.status == "remote"
                        && Data(contentsOf: object) == contents[URL(fileURLWithPath: entry.path).lastPathComponent]
                }
        }

        func contents() throws -> [String: Data] {
            let names = try FileManager.default.contentsOfDirectory(atPath: files.path)
            return try Dictionary(
                uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: files.appendingPathComponent($0))) })
        }
    }

    private static func withSmallDisk(
        _ size: String, files: Int, byteCount: Int, _ body: (Small) throws -> Void
    ) throws {
        try withFolder(files: files, byteCount: byteCount) { folder in
            try withMount(folder, "size=\(size)") { mount in
                try body(Small(folder: folder, database: mount.appendingPathComponent("a.sqlite")))
            }
        }
    }

    @Test(
        "A folder of any size goes through where copies may go, a file at a time or many",
        arguments: [(5, 900_000, "--free-uploaded"), (5, 900_000, "--move"), (400, 20_000, "--free-uploaded")])
    func throughput(files: Int, byteCount: Int, option: String) throws {
        try Self.withSmallDisk("3m", files: files, byteCount: byteCount) { small in
            let contents = try small.contents()
            let push = try small.push(option)
            #expect(push.status == 0, "\(push.messages)")
            #expect(push.summary?["attached"] as? Int == files)
            #expect(push.summary?["uploaded"] as? Int == files)
            #expect(try small.isRemote(contents))
            #expect(push.events.filter { $0["event"] as? String == "freed" }.count > 1)
            #expect(try small.contents().count == (option == "--move" ? 0 : files))
        }
    }

    @Test("A file that does not fit by itself is told, and all others go through")
    func tooLarge() throws {
        try Self.withSmallDisk("3m", files: 6, byteCount: 600_000) { small in
            let contents = try small.contents()
            try randomData(4_000_000).write(to: small.files.appendingPathComponent("2.large"))
            let push = try small.push("--free-uploaded")
            #expect(push.status == 3, "\(push.messages)")
            let failed = push.events.filter { $0["event"] as? String == "failed" }
            #expect(failed.count == 1)
            #expect((failed.first?["path"] as? String)?.hasSuffix("/files/2.large") == true)
            #expect(push.messages.contains("has no room for it"), "\(push.messages)")
            #expect(push.messages.contains("--persistence-location"), "\(push.messages)")
            #expect(push.summary?["failed"] as? Int == 1)
            #expect(try small.isRemote(contents))
        }
    }

    @Test("Where copies stay, what fits is uploaded and the rest is told; with --free-uploaded that follows")
    func copiesStay() throws {
        try Self.withSmallDisk("3m", files: 5, byteCount: 900_000) { small in
            let contents = try small.contents()
            let push = try small.push()
            #expect(push.status == 3, "\(push.messages)")
            let attached = try #require(push.summary?["attached"] as? Int)
            #expect((1..<5).contains(attached))
            #expect(push.summary?["uploaded"] as? Int == attached)
            #expect(push.summary?["failed"] as? Int == 5 - attached)
            #expect(push.messages.contains("'uploader free'"), "\(push.messages)")
            let rest = try small.push("--free-uploaded")
            #expect(rest.status == 0, "\(rest.messages)")
            #expect(rest.summary?["attached"] as? Int == 5 - attached)
            #expect(try small.isRemote(contents))
        }
    }

    @Test("New files wait on another disk with --persistence-location")
    func otherDisk() throws {
        try Self.withSmallDisk("3m", files: 1, byteCount: 4_000_000) { small in
            let contents = try small.contents()
            let place = small.folder.appendingPathComponent("place").path
            let push = try small.push("--free-uploaded", "--persistence-location", place)
            #expect(push.status == 0, "\(push.messages)")
            #expect(try small.isRemote(contents))
        }
    }

    @Test("What a full disk keeps from being written down is told in words of the shell", arguments: [0, 44, 48])
    func words(left: Int) throws {
        try Self.withSmallDisk("3m", files: 1, byteCount: 10_000) { small in
            try #require(try small.push().status == 0)
            let filler = small.database.deletingLastPathComponent().appendingPathComponent("filler").path
            _ = try system("dd", "if=/dev/zero", "of=\(filler)", "bs=4k")
            // Room for nothing, for the index of the log, and for its first page.
            try #require(try system("truncate", "--size=-\(left)K", filler))
            let pin = try UploaderProcess.run("pin", "--database", small.database.path, "files/0.bin", in: small.folder)
            #expect(pin.status == 1)
            #expect(pin.messages.contains("disk that holds the database"), "\(pin.messages)")
            #expect(pin.messages.contains("ree some space"), "\(pin.messages)")
            #expect(!pin.messages.contains("LFSManager"), "\(pin.messages)")
        }
    }
}

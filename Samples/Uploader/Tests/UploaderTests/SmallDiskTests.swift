import Foundation
import Testing

@Suite("Pushes to a disk with little space", .enabled(if: isRoot, "needs root to mount"), .timeLimit(.minutes(10)))
struct SmallDiskTests {
    /// A folder of files, and a small disk for the database and the local copies.
    private struct Small {
        let folder: URL
        let database: URL
        var files: URL { folder.appendingPathComponent("files") }

        func push(_ words: String...) throws -> UploaderProcess.Result {
            try UploaderProcess(
                [
                    "push", "--copy", "--database", database.path, "--to", "dir:remote", "--json", "--give-up-after",
                    "30s",
                ] + words
                    + ["files"], in: folder
            ).wait()
        }

        /// Returns true if the storage contains exactly the original contents.
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
            try withMount(folder, options: "size=\(size)") { mount in
                try body(Small(folder: folder, database: mount.appendingPathComponent("a.sqlite")))
            }
        }
    }

    @Test(
        "A folder larger than the disk is pushed if local copies may be freed",
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

    @Test("A file that does not fit on the disk is reported, and the others are pushed")
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

    @Test("A push without --free-uploaded uploads what fits and reports the rest")
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

    @Test("A push with --persistence-location stages new files on another disk")
    func otherDisk() throws {
        try Self.withSmallDisk("3m", files: 1, byteCount: 4_000_000) { small in
            let contents = try small.contents()
            let place = small.folder.appendingPathComponent("place").path
            let push = try small.push("--free-uploaded", "--persistence-location", place)
            #expect(push.status == 0, "\(push.messages)")
            #expect(try small.isRemote(contents))
        }
    }

    @Test("A full disk of the database is reported with advice", arguments: [0, 44, 48])
    func words(left: Int) throws {
        try Self.withSmallDisk("3m", files: 1, byteCount: 10_000) { small in
            try #require(try small.push().status == 0)
            // The next process could write to a WAL that is already on the disk.
            try #require(!FileManager.default.fileExists(atPath: small.database.path + "-wal"))
            let filler = small.database.deletingLastPathComponent().appendingPathComponent("filler").path
            _ = try system("dd", "if=/dev/zero", "of=\(filler)", "bs=4k")
            // The space left: none, enough for the index of the log, and enough for its first page.
            try #require(try system("truncate", "--size=-\(left)K", filler))
            let pin = try UploaderProcess.run("pin", "--database", small.database.path, "files/0.bin", in: small.folder)
            #expect(pin.status == 1)
            #expect(pin.messages.contains("disk that holds the database"), "\(pin.messages)")
            #expect(pin.messages.contains("ree some space"), "\(pin.messages)")
            #expect(!pin.messages.contains("LFSManager"), "\(pin.messages)")
        }
    }
}

import Foundation
import Testing

@Suite("Sparse files", .enabled(if: isRoot, "needs root to mount"), .timeLimit(.minutes(10)))
struct SparseFileTests {
    private static let size = 96 << 20

    /// Returns the disk space that a file occupies.
    private func room(_ url: URL) throws -> Int {
        var status = stat()
        try #require(stat(url.path, &status) == 0)
        return Int(status.st_blocks) * 512
    }

    @Test("Holes of sparse files occupy no space in copies, objects or restored files")
    func holes() throws {
        try withFolder { folder in
            let source = folder.appendingPathComponent("files/disk.img")
            try Data("begin".utf8).write(to: source)
            let handle = try FileHandle(forWritingTo: source)
            try handle.seek(toOffset: UInt64(Self.size / 2))
            try handle.write(contentsOf: randomData(100_000))
            try handle.truncate(atOffset: UInt64(Self.size))
            try handle.close()
            // The disk of the database is smaller than the file.
            try withMount(folder, options: "size=32m") { mount in
                let database = mount.appendingPathComponent("a.sqlite")
                let push = try UploaderProcess.run(
                    "push", "--database", database.path, "--to", "dir:remote", "files", in: folder)
                #expect(push.status == 0, "\(push)")
                let entry = try #require(try TestDatabase.entries(in: database).first)
                #expect(entry.status == "remote")
                let object = folder.appendingPathComponent("remote/\(entry.key)")
                #expect(try system("cmp", source.path, object.path))
                #expect(try room(object) < 1 << 20)
                for _ in 0..<2 {
                    let pull = try UploaderProcess.run(
                        "pull", "--database", database.path, "--to", "dir:remote", "--all", "--output", "out",
                        in: folder)
                    #expect(pull.status == 0, "\(pull)")
                }
                let restored = folder.appendingPathComponent("out/files/disk.img")
                #expect(try system("cmp", source.path, restored.path))
                #expect(try room(restored) < 1 << 20)
            }
        }
    }
}

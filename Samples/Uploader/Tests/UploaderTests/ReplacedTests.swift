import Foundation
import Testing

@Suite("Old versions of changed files", .enabled(if: isRoot, "needs root to mount"), .timeLimit(.minutes(10)))
struct ReplacedTests {
    /// Pushes a file, changes it to one that does not fit on the storage, and pushes again until that is reported.
    ///
    /// - Returns: the first version and its content.
    private func pushTwice(_ folder: URL, mount: URL) throws -> (TestDatabase.Entry, Data) {
        let push = ["push", "--database", "a.sqlite", "--to", "dir:\(mount.path)/remote", "--json", "files"]
        try #require(try UploaderProcess(push, in: folder).wait().status == 0)
        let old = try #require(TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite")).first)
        let content = try Data(contentsOf: folder.appendingPathComponent("files/0.bin"))
        try randomData(1 << 20).write(to: folder.appendingPathComponent("files/0.bin"))
        let run = try UploaderProcess(push, in: folder)
        while run.process.isRunning, try !run.outputSoFar().contains("\"noSpace\"") { sched_yield() }
        run.process.interrupt()
        #expect(try run.wait().status == 130)
        return (old, content)
    }

    @Test("The old object stays on a full storage until the new one is uploaded")
    func fullStorage() throws {
        try withFolder(files: 1) { folder in
            try withMount(folder, options: "size=256k") { mount in
                let (old, content) = try pushTwice(folder, mount: mount)
                let object = mount.appendingPathComponent("remote/\(old.key)")
                let database = folder.appendingPathComponent("a.sqlite")
                #expect(try TestDatabase.count("lfs_tombstone", in: database) == 0)
                #expect((try? Data(contentsOf: object)) == content)

                #expect(try system("mount", "-o", "remount,size=16m", mount.path))
                let resumed = try UploaderProcess.run(
                    "resume", "--database", "a.sqlite", "--to", "dir:\(mount.path)/remote", in: folder)
                #expect(resumed.status == 0, "\(resumed.messages)")
                let entries = try TestDatabase.entries(in: database)
                #expect(entries.count == 1)
                let new = try #require(entries.first)
                #expect(new.id != old.id && new.status == "remote")
                #expect(
                    try Data(contentsOf: mount.appendingPathComponent("remote/\(new.key)"))
                        == Data(contentsOf: folder.appendingPathComponent("files/0.bin")))
                #expect(!FileManager.default.fileExists(atPath: object.path))
                #expect(try TestDatabase.count("lfs_file", in: database) == 1)
            }
        }
    }

    @Test(
        "The next run deletes the old object if a kill came after the new upload",
        arguments: ["push", "resume"])
    func killedBetween(command: String) throws {
        try withFolder(files: 1) { folder in
            try withMount(folder, options: "size=256k") { mount in
                let (old, _) = try pushTwice(folder, mount: mount)
                let database = folder.appendingPathComponent("a.sqlite")
                let new = try #require(try TestDatabase.entries(in: database).first)
                try #require(new.id != old.id)
                #expect(try system("mount", "-o", "remount,size=16m", mount.path))
                // The state after such a kill: the object, and the row that records it.
                try FileManager.default.copyItem(
                    at: folder.appendingPathComponent("files/0.bin"),
                    to: mount.appendingPathComponent("remote/\(new.key)"))
                try TestDatabase.execute(
                    "UPDATE lfs_file SET status = 'remote', url = 'file:///x' WHERE id = '\(new.id)'", in: database)
                try TestDatabase.execute("DELETE FROM lfs_job", in: database)

                let storage = ["--database", "a.sqlite", "--to", "dir:\(mount.path)/remote"]
                let next = try UploaderProcess(
                    [command] + storage + (command == "push" ? ["files"] : []), in: folder
                ).wait()
                #expect(next.status == 0, "\(next.messages)")
                #expect(!FileManager.default.fileExists(atPath: mount.appendingPathComponent("remote/\(old.key)").path))
                #expect(try TestDatabase.count("lfs_file", in: database) == 1)
            }
        }
    }
}

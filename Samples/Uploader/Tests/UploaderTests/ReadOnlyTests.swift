import Foundation
import GRDB
import Testing

@Suite("Read-only databases", .enabled(if: isRoot, "needs root to mount"), .timeLimit(.minutes(10)))
struct ReadOnlyTests {
    private static let user = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

    /// Returns wrappers that make writing impossible: another user, and a read-only mount.
    private func ways(_ folder: URL) -> [[String]] {
        let mount = "mount --bind '\(folder.path)' '\(folder.path)' && mount -o remount,ro,bind '\(folder.path)'"
        return [
            Self.user,
            ["/usr/bin/unshare", "--mount", "sh", "-c", "\(mount) && cd '\(folder.path)' && exec \"$@\"", "sh"],
        ]
    }

    private func withPushed(_ body: (URL) throws -> Void) throws {
        try withFolder(files: 3) { folder in
            #expect(
                try UploaderProcess.run("push", "--database", "a b.sqlite", "--to", "dir:remote", "files", in: folder)
                    .status == 0)
            #expect(try system("chmod", "755", folder.path))
            #expect(try system("chmod", "644", folder.path + "/a b.sqlite"))
            try body(folder)
        }
    }

    @Test("A read-only database is shown by status and list, and no file is created")
    func shown() throws {
        try withPushed { folder in
            let before = try FileManager.default.contentsOfDirectory(atPath: folder.path).count { !$0.hasPrefix(".") }
            for way in ways(folder) {
                let status = try UploaderProcess.run(
                    "status", "--database", "a b.sqlite", "--json", in: folder, through: way)
                #expect(status.status == 0, "\(status.messages)")
                #expect(status.output.contains("\"remote\":3"))
                let list = try UploaderProcess.run("list", "--database", "a b.sqlite", in: folder, through: way)
                #expect(list.status == 0, "\(list.messages)")
                #expect(list.output.split(separator: "\n").count == 3)
            }
            let after = try FileManager.default.contentsOfDirectory(atPath: folder.path).count { !$0.hasPrefix(".") }
            #expect(after == before)
        }
    }

    @Test("A list warns that local copies are unknown if their folder is unreadable")
    func hidden() throws {
        try withPushed { folder in
            func list(_ option: String) throws -> UploaderProcess.Result {
                try UploaderProcess.run("list", "--database", "a b.sqlite", option, in: folder, through: Self.user)
            }
            let long = try list("--long")
            #expect(long.status == 0 && long.messages.contains("so no local copy is shown"), "\(long.messages)")
            let here = try list("--here")
            #expect(here.status == 1 && here.messages.contains("so local copies are unknown"), "\(here.messages)")
        }
    }

    @Test("A read-only database with an unread WAL is refused with advice")
    func unreadableChanges() throws {
        try withPushed { folder in
            let (file, copies) = (folder.appendingPathComponent("a b.sqlite"), folder.appendingPathComponent("copies"))
            try FileManager.default.createDirectory(at: copies, withIntermediateDirectories: false)
            let pool = try DatabasePool(path: file.path)
            try pool.write { db in try db.execute(sql: "CREATE TABLE newest (id INTEGER)") }
            for suffix in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: file.path + suffix, toPath: copies.path + "/a.sqlite" + suffix)
            }
            try pool.close()
            #expect(try system("chmod", "-R", "a+rX", copies.path))
            for command in ["status", "list"] {
                let run = try UploaderProcess.run(
                    command, "--database", copies.path + "/a.sqlite", in: folder, through: Self.user)
                #expect(run.status == 1)
                #expect(run.messages.contains("Copy both files into a folder of your own"), "\(run.messages)")
            }
        }
    }

    @Test("A push to a read-only database fails with a plain message")
    func refused() throws {
        try withPushed { folder in
            for way in ways(folder) {
                let run = try UploaderProcess.run(
                    "push", "--database", "a b.sqlite", "files", in: folder, through: way)
                #expect(run.status == 1)
                #expect(!run.messages.contains("SQLite error"), "\(run.messages)")
            }
        }
    }
}

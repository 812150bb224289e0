import Foundation
import Testing

@Suite("Deleted originals", .timeLimit(.minutes(10)))
struct GoneTests {
    private func uploader(_ arguments: String..., in folder: URL) throws -> UploaderProcess.Result {
        let storage = ["push", "remove"].contains(arguments[0]) ? ["--to", "dir:remote"] : []
        return try UploaderProcess(
            [arguments[0], "--database", "a.sqlite"] + storage + arguments.dropFirst(), in: folder
        ).wait()
    }

    private func delete(_ names: String..., in folder: URL) throws {
        for name in names { try FileManager.default.removeItem(at: folder.appendingPathComponent(name)) }
    }

    private func pushed(_ folder: URL) throws -> [String: String] {
        #expect(try uploader("push", "files", in: folder).status == 0)
        return try left(folder)
    }

    /// Returns the ids of the remaining files by the last component of their paths.
    private func left(_ folder: URL) throws -> [String: String] {
        let entries = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))
        return Dictionary(
            entries.map { (($0.path as NSString).lastPathComponent, $0.id) }, uniquingKeysWith: { $1 })
    }

    @Test("The option --gone lists and removes only files whose originals were deleted")
    func gone() throws {
        try withFolder(files: 6) { folder in
            let ids = try pushed(folder)
            #expect(try uploader("list", "--gone", in: folder).output.isEmpty)
            try delete("files/1.bin", "files/2.bin", "files/3.bin", in: folder)
            // A link in the file's place may lead to its new location.
            try FileManager.default.createSymbolicLink(
                at: folder.appendingPathComponent("files/3.bin"), withDestinationURL: URL(fileURLWithPath: "away"))
            let list = try uploader("list", "--gone", in: folder)
            let lines = list.output.split(separator: "\n").map(String.init)
            #expect(list.status == 0 && Set(lines.map { String($0.prefix(36)) }) == [ids["1.bin"], ids["2.bin"]])
            #expect(try uploader("list", "--gone", "1.bin", in: folder).output.split(separator: "\n").count == 1)
            let preview = try uploader("remove", "--gone", "--dry-run", in: folder)
            #expect(preview.status == 0 && preview.output.contains("2 files to remove"))
            #expect(try left(folder).count == 6)
            #expect(try uploader("remove", "--gone", "1.bin", "0.bin", in: folder).output.hasPrefix("1 removed"))
            #expect(try left(folder).count == 5)
            let all = try uploader("remove", "--gone", in: folder)
            #expect(all.status == 0 && all.output.hasPrefix("1 removed"), "\(all)")
            #expect(Set(try left(folder).keys) == ["0.bin", "3.bin", "4.bin", "5.bin"])
            #expect(try uploader("remove", "--accept-empty", "0.bin", in: folder).status == 64)
        }
    }

    @Test(
        "Removing gone files is refused for an empty or missing folder until accepted",
        arguments: ["empty", "missing", "other"])
    func notMounted(kind: String) throws {
        try withFolder(files: 3) { folder in
            _ = try pushed(folder)
            try delete("files", in: folder)
            if kind != "missing" {
                try FileManager.default.createDirectory(
                    at: folder.appendingPathComponent("files"), withIntermediateDirectories: false)
            }
            if kind == "other" { try Data().write(to: folder.appendingPathComponent("files/README")) }
            let list = try uploader("list", "--gone", in: folder)
            #expect(list.output.split(separator: "\n").count == 3 && list.messages.contains("Is its disk mounted?"))
            for option in ["--dry-run", "--quiet"] {
                let refused = try uploader("remove", "--gone", option, in: folder)
                #expect(refused.status == 3 && refused.messages.contains("--accept-empty"), "\(refused)")
            }
            #expect(try left(folder).count == 3)
            let accepted = try uploader("remove", "--gone", "--accept-empty", in: folder)
            #expect(accepted.status == 0 && accepted.output.hasPrefix("3 removed"), "\(accepted)")
            #expect(try left(folder).isEmpty)
        }
    }

    @Test("A push of an emptied folder reports how many files were pushed from it")
    func emptied() throws {
        try withFolder(files: 3) { folder in
            let odd = folder.appendingPathComponent("files/with space")
            try FileManager.default.createDirectory(at: odd, withIntermediateDirectories: false)
            try Data("x".utf8).write(to: odd.appendingPathComponent("x"))
            #expect(try RestoreTests.shell("printf x > \"$(printf 'files/odd\\377')\"", in: folder))
            #expect(try uploader("push", "files", in: folder).status == 0)
            // Another folder whose name starts with the same letters.
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent("files0"), withIntermediateDirectories: false)
            try Data("y".utf8).write(to: folder.appendingPathComponent("files0/y"))
            #expect(try !uploader("push", "files", "files0", in: folder).messages.contains("has no file any more"))
            try delete("files", in: folder)
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent("files"), withIntermediateDirectories: false)
            for _ in 1...2 {
                let push = try uploader("push", "files", "files0", in: folder)
                #expect(push.status == 0)
                let words = "files has no file any more, and 5 files were pushed from it"
                #expect(push.messages.contains(words), "\(push.messages)")
                #expect(!push.messages.contains("files0 has no file"))
            }
            // With a filter, the push cannot know whether the folder is empty.
            let filtered = try uploader("push", "--include", "*.jpg", "files", in: folder)
            #expect(!filtered.messages.contains("has no file any more"), "\(filtered.messages)")
            #expect(try uploader("remove", "--gone", "--accept-empty", in: folder).status == 0)
            #expect(try !uploader("push", "files", in: folder).messages.contains("has no file any more"))
        }
    }

    @Test(
        "An unreadable folder is reported as unreadable, not as empty",
        .enabled(if: isRoot, "needs root to act as another user"))
    func unreadable() throws {
        try withFolder(files: 3) { folder in
            #expect(try system("chmod", "755", folder.path))
            #expect(try system("chown", "-R", "65534:65534", folder.path))
            let user = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            func push() throws -> UploaderProcess.Result {
                try UploaderProcess(
                    ["push", "--database", "a.sqlite", "--to", "dir:remote", "files"], in: folder, through: user
                ).wait()
            }
            #expect(try push().status == 0)
            #expect(try system("chmod", "000", folder.path + "/files"))
            let refused = try push()
            #expect(try system("chmod", "755", folder.path + "/files"))
            #expect(refused.status == 3 && refused.messages.contains("Permission denied"), "\(refused)")
            #expect(!refused.messages.contains("has no file any more"), "\(refused)")
        }
    }

    @Test("A push of a folder whose files were moved prints no warning")
    func emptiedByMove() throws {
        try withFolder(files: 3) { folder in
            #expect(try uploader("push", "--move", "files", in: folder).status == 0)
            let push = try uploader("push", "files", in: folder)
            #expect(push.status == 0 && !push.messages.contains("has no file any more"), "\(push.messages)")
        }
    }

    @Test("Removing gone files keeps the files of an empty subfolder")
    func emptyFolderWithin() throws {
        try withFolder(files: 2) { folder in
            for name in ["files/card/a", "files/deleted/b"] {
                let url = folder.appendingPathComponent(name)
                try FileManager.default.createDirectory(
                    at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(name.utf8).write(to: url)
            }
            _ = try pushed(folder)
            try delete("files/card/a", "files/deleted", "files/0.bin", in: folder)
            let run = try uploader("remove", "--gone", in: folder)
            #expect(run.status == 3 && run.output.hasPrefix("2 removed"), "\(run)")
            #expect(Set(try left(folder).keys) == ["a", "1.bin"])
        }
    }

    @Test(
        "Removing gone files keeps those of a mount point that contains other files",
        arguments: [["files"], ["files/card/1.jpg", "files/card/DCIM/2.jpg", "files/0.bin"]])
    func foreignFileInMountPoint(pushed names: [String]) throws {
        try withFolder(files: 2) { folder in
            let card = folder.appendingPathComponent("files/card")
            try FileManager.default.createDirectory(
                at: card.appendingPathComponent("DCIM"), withIntermediateDirectories: true)
            for name in ["1.jpg", "DCIM/2.jpg"] { try Data(name.utf8).write(to: card.appendingPathComponent(name)) }
            let push = try UploaderProcess(
                ["push", "--database", "a.sqlite", "--to", "dir:remote"] + names, in: folder
            ).wait()
            #expect(push.status == 0, "\(push)")
            try delete("files/card", in: folder)
            try FileManager.default.createDirectory(at: card, withIntermediateDirectories: false)
            try Data().write(to: card.appendingPathComponent(".nomedia"))
            let refused = try uploader("remove", "--gone", in: folder)
            #expect(refused.status == 3 && refused.output.hasPrefix("0 removed"), "\(refused)")
            #expect(Set(try left(folder).keys).isSuperset(of: ["1.jpg", "2.jpg"]))
            // One of its files exists again, so the disk is mounted and the other file was deleted.
            try FileManager.default.createDirectory(
                at: card.appendingPathComponent("DCIM"), withIntermediateDirectories: false)
            try Data("again".utf8).write(to: card.appendingPathComponent("DCIM/2.jpg"))
            if names.count == 1 {
                let certain = try uploader("remove", "--gone", in: folder)
                #expect(certain.status == 0 && certain.output.hasPrefix("1 removed"), "\(certain)")
                #expect(try left(folder)["1.jpg"] == nil)
            }
        }
    }

    @Test(
        "Removing gone files keeps those of a missing mount point",
        .enabled(if: isRoot, "needs root to mount"))
    func pulledOut() throws {
        try withFolder { folder in
            // The mount is visible to this shell only, so the system's own folder does not change.
            let script = """
                set -e; uploader=$0; mount -t tmpfs none /media; mkdir -p /media/ada/A /media/ada/B /media/ada/B/old
                echo a > /media/ada/A/a; echo b > /media/ada/B/b; echo o > /media/ada/B/old/o
                "$uploader" push --database a.sqlite --to dir:remote /media/ada >&2
                rm -r /media/ada/A /media/ada/B/old
                exec "$uploader" remove --database a.sqlite --gone
                """
            let run = try UploaderProcess(
                [], in: folder, through: ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", script]
            ).wait()
            #expect(run.status == 3 && run.messages.contains("failed /media/ada/A: it is empty"), "\(run)")
            #expect(Set(try left(folder).keys) == ["a", "b"])
        }
    }

    @Test("Removing gone files forgets deleted folders and links, but not of kept files")
    func entries() throws {
        try withFolder(files: 1) { folder in
            for name in ["files/old/deep/a", "files/kept/b", "files/moved/c", "files/card/d"] {
                let url = folder.appendingPathComponent(name)
                try FileManager.default.createDirectory(
                    at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(name.utf8).write(to: url)
            }
            #expect(
                try RestoreTests.shell("mkdir files/old/empty; ln -s a files/link; ln -s b files/other", in: folder))
            _ = try pushed(folder)
            let moved = try UploaderProcess(
                ["push", "--database", "a.sqlite", "--to", "dir:remote", "--move", "files/moved/c"], in: folder
            ).wait()
            #expect(moved.status == 0, "\(moved)")
            // A renamed folder, a folder whose files were moved, a disk that may not be mounted, and a link.
            #expect(
                try RestoreTests.shell("mv files/old files/new; rm -r files/moved files/card/d files/link", in: folder))
            #expect(try RestoreTests.shell("mkdir files/card/x; rm -r files/kept; mkdir -p files/kept", in: folder))
            #expect(try uploader("push", "files", in: folder).status == 0)
            let named = try uploader("remove", "--gone", "--dry-run", "files/old", in: folder)
            #expect(named.status == 0 && named.output.contains("1 file to remove, 3 folders and links to forget"))
            let preview = try uploader("remove", "--gone", "--dry-run", in: folder)
            #expect(preview.output.contains("1 file to remove, 4 folders and links to forget"), "\(preview)")
            let run = try uploader("remove", "--gone", "--json", in: folder)
            #expect(run.status == 3 && run.summary?["removed"] as? Int == 1, "\(run)")
            #expect(run.summary?["forgotten"] as? Int == 4, "\(run)")
            let pulled = try UploaderProcess.run(
                "pull", "--database", "a.sqlite", "--to", "dir:remote", "--all", "--output", "out", in: folder)
            #expect(pulled.status == 0, "\(pulled.messages)")
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/out/files")
            #expect(Set(names) == ["0.bin", "new", "kept", "moved", "card", "other"])
        }
    }

    @Test("A file whose path is now a folder is gone, and so is a restored, deleted one")
    func goneInOtherWays() throws {
        try withFolder(files: 4) { folder in
            let ids = try pushed(folder)
            #expect(try RestoreTests.shell("rm files/0.bin && mkdir files/0.bin", in: folder))
            #expect(try uploader("push", "--move", "files/1.bin", "files/2.bin", in: folder).status == 0)
            let pull = try UploaderProcess.run(
                "pull", "--database", "a.sqlite", "--to", "dir:remote", "--in-place", "--yes", "1.bin", in: folder)
            #expect(pull.status == 0, "\(pull.messages)")
            try delete("files/1.bin", in: folder)
            let list = try uploader("list", "--gone", in: folder).output.split(separator: "\n")
            #expect(Set(list.map { String($0.prefix(36)) }) == [ids["0.bin"], ids["1.bin"]], "\(list)")
            #expect(try uploader("remove", "--gone", in: folder).output.hasPrefix("2 removed"))
            #expect(Set(try left(folder).keys) == ["2.bin", "3.bin"])
        }
    }

    @Test("A moved file is not gone, even if an old version or a folder has its path")
    func movedStays() throws {
        try withFolder { folder in
            let file = folder.appendingPathComponent("files/a")
            func run(_ command: String, arguments: String...) throws -> UploaderProcess.Result {
                try UploaderProcess([command, "--database", "a.sqlite", "--to", "dir:remote"] + arguments, in: folder)
                    .wait()
            }
            try Data("stays".utf8).write(to: folder.appendingPathComponent("files/b"))
            try Data("one".utf8).write(to: file)
            #expect(try run("push", arguments: "--keep-versions", "forever", "files").status == 0)
            let old = try #require(try left(folder)["a"])
            try Data("two".utf8).write(to: file)
            #expect(try run("push", arguments: "--move", "files/a").status == 0)
            #expect(try run("pull", arguments: "--in-place", "--yes", old).status == 0)
            #expect(try Data(contentsOf: file) == Data("one".utf8))
            try FileManager.default.removeItem(at: file)
            #expect(try uploader("remove", "--gone", in: folder).output.hasPrefix("0 removed"))
            #expect(try RestoreTests.shell("mkdir files/a", in: folder))
            let beside = try run("pull", arguments: "--in-place", "--yes", "--all")
            #expect(beside.status == 3 && beside.messages.contains("files/a is in the way"), "\(beside)")
            let removed = try uploader("remove", "--gone", in: folder)
            #expect(removed.status == 0 && removed.output.hasPrefix("0 removed"), "\(removed)")
            #expect(try left(folder).count == 2)
            #expect(try run("pull", arguments: "--all", "--output", "out").status == 0)
            #expect(try RestoreTests.shell("cat out/files/*a* | grep -q two", in: folder))
        }
    }

    @Test("The folders of moved files stay recorded without a message")
    func foldersOfMoved() throws {
        try withFolder(files: 2) { folder in
            #expect(try RestoreTests.shell("mkdir files/sub; echo x > files/sub/x", in: folder))
            #expect(try uploader("push", "--move", "files", in: folder).status == 0)
            #expect(try RestoreTests.shell("rm -r files", in: folder))
            let run = try uploader("remove", "--gone", in: folder)
            #expect(run.status == 0 && !run.output.contains("forgotten"), "\(run)")
        }
    }

    @Test("A missing pushed folder is reported as gone, but its parent is not")
    func rootFolder() throws {
        try withFolder(files: 2) { folder in
            _ = try pushed(folder)
            try delete("files", in: folder)
            let run = try uploader("remove", "--gone", in: folder)
            let told = run.messages.split(separator: "\n").filter { $0.contains("failed") }
            #expect(run.status == 3 && told.count == 1, "\(run)")
            #expect(told.first?.contains("failed \(folder.path)/files: it is empty") == true, "\(run)")
            let accepted = try uploader("remove", "--gone", "--accept-empty", in: folder)
            #expect(accepted.status == 0 && accepted.output.contains("2 removed"), "\(accepted)")
            #expect(accepted.output.contains("1 folder or link forgotten"), "\(accepted)")
            #expect(try uploader("remove", "--gone", in: folder).status == 0)
        }
    }

    @Test("Links and folders in an otherwise empty folder are forgotten once accepted")
    func emptyFolders() throws {
        try withFolder(files: 1) { folder in
            #expect(try RestoreTests.shell("mkdir -p files/2020/empty/deep; ln -s x files/2020/link", in: folder))
            _ = try pushed(folder)
            #expect(try RestoreTests.shell("rmdir files/2020/empty/deep; rm files/2020/link", in: folder))
            let refused = try uploader("remove", "--gone", in: folder)
            #expect(refused.status == 3 && refused.messages.contains("1 folder or link may only seem gone"))
            let accepted = try uploader("remove", "--gone", "--accept-empty", in: folder)
            #expect(accepted.status == 0 && accepted.output.contains("2 folders and links forgotten"), "\(accepted)")
            #expect(try uploader("remove", "--gone", in: folder).status == 0)
        }
    }

    @Test("A file that was removed as gone is backed up again when it is back")
    func back() throws {
        try withFolder(files: 2) { folder in
            let ids = try pushed(folder)
            let (file, away) = (folder.appendingPathComponent("files/0.bin"), folder.appendingPathComponent("away"))
            try FileManager.default.moveItem(at: file, to: away)
            #expect(try uploader("remove", "--gone", in: folder).status == 0)
            try FileManager.default.moveItem(at: away, to: file)
            let backup = try UploaderProcess(
                ["backup", "--database", "a.sqlite", "--to", "dir:remote", "--groups", "include:files"], in: folder
            ).wait()
            #expect(backup.status == 0 && backup.output.hasPrefix("1 attached, 1 uploaded"), "\(backup)")
            #expect(try left(folder)["1.bin"] == ids["1.bin"])
        }
    }
}

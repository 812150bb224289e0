import Foundation
import Testing

@Suite("Names of files", .timeLimit(.minutes(10)))
struct NamingTests {
    private static let storage = ["--database", "a.sqlite", "--to", "dir:remote"]

    private func uploader(_ arguments: String..., in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess([arguments[0], "--database", "a.sqlite"] + arguments.dropFirst(), in: folder).wait()
    }

    /// Pushes photos/{a,b}.jpg, photos/2026/{a.jpg,c.heic} and notes/a.txt.
    private func withPushed(_ body: (URL, [String: TestDatabase.Entry]) throws -> Void) throws {
        try withFolder { folder in
            for name in ["photos/a.jpg", "photos/b.jpg", "photos/2026/a.jpg", "photos/2026/c.heic", "notes/a.txt"] {
                let file = folder.appendingPathComponent(name)
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try randomData(1_000).write(to: file)
            }
            let pushed = try UploaderProcess(["push", "--copy"] + Self.storage + ["photos", "notes"], in: folder).wait()
            try #require(pushed.status == 0, "\(pushed.messages)")
            let entries = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))
            let root = folder.resolvingSymlinksInPath().path
            try body(
                folder,
                Dictionary(uniqueKeysWithValues: entries.map { (String($0.path.dropFirst(root.count + 1)), $0) }))
        }
    }

    private func listed(_ names: String..., in folder: URL) throws -> Set<String> {
        let list = try UploaderProcess(["list", "--database", "a.sqlite"] + names, in: folder).wait()
        #expect(list.status == 0, "\(list.messages)")
        let root = folder.resolvingSymlinksInPath().path
        return Set(
            list.output.split(separator: "\n").map { line in
                String(line.drop { $0 != "/" }.dropFirst(root.count + 1))
            })
    }

    @Test("Files are named by path, folder, pattern, id or the beginning of an id")
    func kinds() throws {
        try withPushed { folder, entries in
            let all = Set(entries.keys)
            #expect(try listed(in: folder) == all)
            #expect(try listed("photos/b.jpg", in: folder) == ["photos/b.jpg"])
            #expect(try listed("photos", in: folder) == all.subtracting(["notes/a.txt"]))
            #expect(try listed("photos/", "./notes/a.txt", in: folder) == all)
            #expect(try listed("*.jpg", in: folder) == ["photos/a.jpg", "photos/b.jpg", "photos/2026/a.jpg"])
            #expect(try listed("photos/*.jpg", in: folder) == ["photos/a.jpg", "photos/b.jpg"])
            #expect(try listed("2026/**", in: folder) == ["photos/2026/a.jpg", "photos/2026/c.heic"])
            #expect(try listed("*.{heic,txt}", in: folder) == ["photos/2026/c.heic", "notes/a.txt"])
            #expect(try listed("c.heic", in: folder) == ["photos/2026/c.heic"])
            let id = try #require(entries["notes/a.txt"]?.id)
            #expect(try listed(id, in: folder) == ["notes/a.txt"])
            #expect(try listed(id.uppercased(), in: folder) == ["notes/a.txt"])
            #expect(try listed(String(id.prefix(35)), in: folder).contains("notes/a.txt"))
            #expect(try listed("/", in: folder) == all)
            #expect(try listed("2026", in: folder) == ["photos/2026/a.jpg", "photos/2026/c.heic"])
            #expect(try listed("2026/", in: folder) == ["photos/2026/a.jpg", "photos/2026/c.heic"])
        }
    }

    @Test("A name with brackets or a star means that file, even after its removal")
    func literal() throws {
        try withFolder { folder in
            for name in ["c[1].jpg", "c1.jpg", "star*.jpg", "star1.jpg"] {
                try Data(name.utf8).write(to: folder.appendingPathComponent("files/\(name)"))
            }
            #expect(try UploaderProcess(["push"] + Self.storage + ["files"], in: folder).wait().status == 0)
            #expect(try listed("c[1].jpg", in: folder) == ["files/c[1].jpg"])
            #expect(try listed("files/star*.jpg", in: folder) == ["files/star*.jpg"])
            let remove = ["remove"] + Self.storage
            for name in ["files/c[1].jpg", "files/star*.jpg"] {
                #expect(try UploaderProcess(remove + [name], in: folder).wait().status == 0)
                let again = try UploaderProcess(remove + [name], in: folder).wait()
                #expect(again.status == 3 && again.messages.contains("as a pattern it selects others"))
            }
            #expect(try listed(in: folder) == ["files/c1.jpg", "files/star1.jpg"])
            #expect(try listed("**/star*.jpg", in: folder) == ["files/star1.jpg"])
        }
    }

    @Test("A path means the file of this device, not of another device")
    func devices() throws {
        try withPushed { folder, entries in
            let database = folder.appendingPathComponent("a.sqlite")
            let path = try #require(entries["photos/a.jpg"]?.path)
            let other = try #require(entries["notes/a.txt"])
            // The state after a sync: the key belongs to another device.
            try TestDatabase.execute("DROP TRIGGER lfs_file_keep_content", in: database)
            try TestDatabase.execute(
                """
                UPDATE lfs_file SET key = '00000000000000000000000000000000/' || id WHERE id = '\(other.id)';
                UPDATE uploader_document SET path = '\(path)' WHERE fileId = '\(other.id)';
                """, in: database)
            let list = try uploader("list", "photos/a.jpg", in: folder)
            #expect(list.output.split(separator: "\n").count == 1 && !list.output.contains(other.id))
            #expect(try uploader("list", path, in: folder).output.split(separator: "\n").count == 1)
            #expect(try uploader("list", other.id, in: folder).output.contains(other.id))
        }
    }

    @Test("An unknown or ambiguous name is reported, and the other names are processed")
    func refusals() throws {
        try withPushed { folder, entries in
            // All ids of a run start with the same time.
            let beginning = String(try #require(entries["notes/a.txt"]?.id).prefix(8))
            let list = try uploader("list", "a.jpg", "nowhere", "*.png", "[a", beginning, "b.jpg", in: folder)
            #expect(list.status == 3)
            #expect(list.messages.contains("a.jpg: 2 files end like this: give more of the path, or a pattern."))
            #expect(list.messages.contains("nowhere: no file has this id or path; 'list' shows all files."))
            #expect(list.messages.contains("*.png: no file has"))
            #expect(list.messages.contains("[a: The pattern '[a' has a [ without a ]."))
            #expect(list.messages.contains("\(beginning): 5 ids start like this: give more characters."))
            #expect(list.output.split(separator: "\n").count == 1 && list.output.contains("photos/b.jpg"))
            for command in [["list"], ["pin"], ["free"], ["remove", "--to", "dir:remote"]] {
                let run = try UploaderProcess(command + ["--database", "a.sqlite", ""], in: folder).wait()
                #expect(run.status == 64)
                #expect(run.messages.contains("A name is empty"))
            }
        }
    }

    @Test("The beginning of an id shared by equal files selects all of them")
    func sharedID() throws {
        try withPushed { folder, entries in
            let id = try #require(entries["notes/a.txt"]?.id)
            try FileManager.default.copyItem(
                at: folder.appendingPathComponent("notes/a.txt"), to: folder.appendingPathComponent("photos/copy.txt"))
            #expect(try UploaderProcess(["push"] + Self.storage + ["photos"], in: folder).wait().status == 0)
            for name in [id, String(id.dropLast(2))] {
                #expect(try listed(name, in: folder).contains("photos/copy.txt"), "\(name)")
                #expect(try listed(name, in: folder).contains("notes/a.txt"), "\(name)")
                // The user may mean only one of them.
                for option in [["-n"], []] {
                    let removed = try UploaderProcess(["remove"] + Self.storage + option + [name], in: folder).wait()
                    #expect(removed.status == 3, "\(removed.output)")
                    #expect(removed.messages.contains("2 equal files have this id: give the path of one"))
                }
                #expect(try listed(name, in: folder).contains("notes/a.txt"))
            }
            for (name, words) in [
                (String(id.prefix(7)), "an id needs its first eight characters"), ("0a1", "has this id or path"),
            ] {
                let list = try uploader("list", name, in: folder)
                #expect(list.status == 3 && list.messages.contains(words), "\(list.messages)")
            }
        }
    }

    @Test("The commands pull, pin and free accept paths and patterns")
    func others() throws {
        try withPushed { folder, _ in
            let pulled = try UploaderProcess(
                ["pull"] + Self.storage + ["--output", "out", "photos/2026", "notes/a.txt", "x"], in: folder
            ).wait()
            #expect(pulled.status == 3)
            #expect(pulled.output.contains("3 pulled, 1 failed"))
            #expect(pulled.messages.contains("failed x: no file has"))
            #expect(try system("diff", "-r", "\(folder.path)/photos/2026", "\(folder.path)/out/photos/2026"))
            // As with a pull, the other files are pinned and the unknown name is reported.
            let pins = try uploader("pin", "photos/2026", "x", in: folder)
            #expect(pins.status == 3)
            #expect(pins.messages.contains("x: no file has this id or path"))
            let freed = try uploader("free", "*.jpg", in: folder)
            #expect(freed.status == 3)
            #expect(freed.messages.contains("photos/2026/a.jpg is pinned. Run 'uploader unpin' first."))
            #expect(freed.output.split(separator: "\n").count == 2)
            let pinned = try uploader("list", "--pinned", "--long", in: folder)
            #expect(pinned.output.split(separator: "\n").count == 2)
            #expect(pinned.output.split(separator: "\n").allSatisfy { $0.contains("  here  pinned  20") })
            #expect(try uploader("list", "--no-here", in: folder).output.split(separator: "\n").count == 2)
            #expect(try uploader("unpin", "**", in: folder).status == 0)
            #expect(try uploader("list", "--pinned", in: folder).output.isEmpty)
        }
    }

    @Test("Removing deletes objects but not originals, and a dry run deletes nothing")
    func remove() throws {
        try withPushed { folder, entries in
            let remove = ["remove"] + Self.storage
            let preview = try UploaderProcess(remove + ["-n", "photos/2026"], in: folder).wait()
            #expect(preview.status == 0, "\(preview.messages)")
            #expect(preview.output.contains("photos/2026/c.heic") && preview.output.contains("2 files to remove"))
            #expect(try TestDatabase.ids(in: folder.appendingPathComponent("a.sqlite")).count == 5)
            let run = try UploaderProcess(remove + ["photos/2026", "*.txt"], in: folder).wait()
            #expect(run.status == 0, "\(run.messages)")
            #expect(run.output.contains("3 removed, 0 failed, 1 folder or link forgotten, 2.9 KiB"), "\(run.output)")
            #expect(try listed(in: folder) == ["photos/a.jpg", "photos/b.jpg"])
            for (name, entry) in entries {
                let object = FileManager.default.fileExists(atPath: folder.path + "/remote/" + entry.key)
                #expect(object == ["photos/a.jpg", "photos/b.jpg"].contains(name), "\(name)")
                #expect(FileManager.default.fileExists(atPath: folder.path + "/" + name))
            }
        }
    }

    @Test("Removing one of two equal documents keeps the file of the other")
    func shared() throws {
        try withFolder(files: 1) { folder in
            try FileManager.default.copyItem(
                at: folder.appendingPathComponent("files/0.bin"), to: folder.appendingPathComponent("files/1.bin"))
            let backup = try UploaderProcess(
                ["backup"] + Self.storage + ["--groups", "include:files"], in: folder
            ).wait()
            try #require(backup.status == 0, "\(backup.messages)")
            let database = folder.appendingPathComponent("a.sqlite")
            #expect(try TestDatabase.ids(in: database).count == 1)
            let first = try UploaderProcess(["remove"] + Self.storage + ["files/0.bin"], in: folder).wait()
            #expect(first.status == 0 && first.output.contains("1 removed, 0 failed, 0 B"), "\(first.output)")
            #expect(try TestDatabase.ids(in: database).count == 1)
            let pulled = try UploaderProcess(
                ["pull"] + Self.storage + ["--all", "--output", "out"], in: folder
            ).wait()
            #expect(pulled.output.contains("1 pulled"))
            #expect(try UploaderProcess(["remove"] + Self.storage + ["files/1.bin"], in: folder).wait().status == 0)
            #expect(try TestDatabase.ids(in: database).isEmpty)
        }
    }

    @Test("The list is sorted as requested, and its columns are aligned")
    func list() throws {
        try withFolder { folder in
            for (name, size) in [("b", 10), ("a", 3_000), ("c", 2_000_000)] {
                try randomData(size).write(to: folder.appendingPathComponent("files/\(name)"))
            }
            #expect(try UploaderProcess(["push"] + Self.storage + ["files"], in: folder).wait().status == 0)
            func names(_ options: String...) throws -> String {
                let run = try UploaderProcess(["list", "--database", "a.sqlite"] + options, in: folder).wait()
                let lines = run.output.split(separator: "\n")
                // The line starts with the id and ends with the path. Only the path starts with a slash.
                #expect(Set(lines.map { $0.prefix { $0 != "/" }.count }).count <= 1)
                return lines.compactMap { $0.last.map(String.init) }.joined()
            }
            #expect(try names() == "abc")
            #expect(try names("--sort", "size") == "bac")
            #expect(try names("--sort", "size", "--reverse", "--long") == "cab")
            #expect(try names("--status", "remote") == "abc")
            #expect(try names("--status", "local") == "")
        }
    }
}

import Foundation
import LFS
import LFSBackup
import Testing
import UploaderKit

@Suite("push --move", .timeLimit(.minutes(10)))
struct MoveTests {
    private func push(_ options: String..., in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess(
            ["push", "--database", "a.sqlite", "--to", "dir:remote", "--json"] + options + ["files"], in: folder
        ).wait()
    }

    private func names(_ folder: URL, _ path: String = "files") throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent(path).path))
    }

    @Test("removes what is on the storage, and pull brings it back; links, folders and what is left out stay")
    func move() throws {
        try withFolder(files: 5) { folder in
            let files = folder.appendingPathComponent("files")
            try FileManager.default.createDirectory(
                at: files.appendingPathComponent("deep"), withIntermediateDirectories: false)
            try Data("deep".utf8).write(to: files.appendingPathComponent("deep/x"))
            try Data("stays".utf8).write(to: files.appendingPathComponent("keep.tmp"))
            try FileManager.default.createSymbolicLink(
                atPath: files.path + "/link", withDestinationPath: folder.path + "/files/keep.tmp")
            let copy = folder.appendingPathComponent("copy")
            try FileManager.default.copyItem(at: files, to: copy)
            // One of an earlier run goes as well.
            #expect(try push("--include", "0.bin", in: folder).status == 0)
            #expect(try system("touch", files.path + "/0.bin"))
            let moved = try push("--move", "--exclude", "*.tmp", in: folder)
            #expect(moved.status == 0, "\(moved.messages)")
            #expect(moved.summary?["moved"] as? Int == 6)
            #expect(moved.events.filter { $0["event"] as? String == "moved" }.count == 6)
            #expect(try names(folder) == ["deep", "keep.tmp", "link"] && names(folder, "files/deep").isEmpty)
            #expect(try names(folder, "a.sqlite.lfs").filter { $0.count == 36 }.isEmpty)
            let pulled = try UploaderProcess.run(
                "pull", "--database", "a.sqlite", "--to", "dir:remote", "--all", "--output", "out", in: folder)
            #expect(pulled.status == 0, "\(pulled.messages)")
            for name in (0..<5).map({ "\($0).bin" }) + ["deep/x"] {
                #expect(try system("cmp", copy.path + "/" + name, folder.path + "/out/files/" + name), "\(name)")
            }
        }
    }

    @Test("Every name of a file with several ones goes in the same run, however far apart they are")
    func links() throws {
        try withFolder(files: 0) { folder in
            let files = folder.appendingPathComponent("files")
            for index in 0..<120 { try Data("\(index)".utf8).write(to: files.appendingPathComponent("m\(index)")) }
            try Data("shared".utf8).write(to: files.appendingPathComponent("a"))
            for name in ["b", "z"] {
                try FileManager.default.linkItem(atPath: files.path + "/a", toPath: files.path + "/" + name)
            }
            let moved = try push("--move", in: folder)
            #expect(moved.status == 0, "\(moved.messages)")
            #expect(moved.summary?["moved"] as? Int == 123)
            #expect(try names(folder).isEmpty)
        }
    }

    @Test("A file that changes once another name of it has gone is left alone")
    func changedLink() throws {
        try withFolder { folder in
            let names = ["a", "b"].map { folder.appendingPathComponent($0).path }
            func remove(_ between: () throws -> Void) throws -> String {
                for name in names where access(name, F_OK) == 0 { #expect(unlink(name) == 0) }
                try Data("one".utf8).write(to: URL(fileURLWithPath: names[0]))
                #expect(link(names[0], names[1]) == 0)
                let handle = try #require(FileHandle(forReadingAtPath: names[0]))
                let stamp = try #require(AssetStamp(ofOpenFile: handle.fileDescriptor)).text
                try handle.close()
                var linked = LinkedStamps()
                try Original(path: FilePath(names[0]), document: "1").remove(stamp, &linked)
                try between()
                do {
                    try Original(path: FilePath(names[1]), document: "2").remove(stamp, &linked)
                } catch let error as UploaderError { return error.description }
                return ""
            }
            #expect(try remove {} == "")
            let narrowed = try remove { #expect(chmod(names[1], 0o600) == 0) }
            #expect(narrowed.contains("has changed"))
            let other = try remove {
                let handle = try #require(FileHandle(forWritingAtPath: names[1]))
                try handle.write(contentsOf: Data("two".utf8))
                try handle.close()
            }
            #expect(other.contains("has changed"))
            // What changes between the last look and the removal is no other name's doing.
            var linked = LinkedStamps()
            let read = AssetStamp(byteCount: 3, text: "3:1.0:1.0:644:0:0")
            for (now, isSame) in [("3:1.0:2.0:644:0:0", true), ("3:1.5:2.0:644:0:0", false), ("", false)] {
                linked.note(read, since: AssetStamp(byteCount: 3, text: now))
                #expect((linked.asRead(now) == read.text) == isSame, "\(now)")
            }
            linked.note(read, since: AssetStamp(byteCount: 4, text: "4:1.0:2.0:644:0:0"))
            #expect(linked.asRead("4:1.0:2.0:644:0:0") != read.text)
            #expect(try String(contentsOfFile: names[1], encoding: .utf8) == "two")
        }
    }

    @Test("The original of an object that has gone bad since an earlier run stays, and heals it")
    func rotten() throws {
        try withFolder(files: 3) { folder in
            #expect(try push(in: folder).status == 0)
            let entries = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))
            let entry = try #require(entries.first)
            let object = folder.appendingPathComponent("remote/" + entry.key)
            var bytes = try Data(contentsOf: object)
            bytes[bytes.count / 2] ^= 1
            try bytes.write(to: object)
            let moved = try push("--move", in: folder)
            #expect(moved.status == 3 && moved.summary?["moved"] as? Int == 2, "\(moved)")
            #expect(moved.messages.contains("its original stays: the storage has other bytes"), "\(moved.messages)")
            #expect(try names(folder).count == 1)
            let healed = try UploaderProcess(
                ["verify", "--database", "a.sqlite", "--repair"], in: folder
            ).wait()
            #expect(healed.status == 0 || healed.status == 5, "\(healed)")
            let again = try push("--move", in: folder)
            #expect(again.status == 0 && again.summary?["moved"] as? Int == 1, "\(again)")
            #expect(try names(folder).isEmpty)
            let pulled = try UploaderProcess(
                ["pull", "--database", "a.sqlite", "--all", "--output", "out"], in: folder
            ).wait()
            #expect(pulled.status == 0 && pulled.output.contains("3 pulled"), "\(pulled)")
        }
    }

    @Test("Originals stay where the database that has their names cannot be saved, or another uploader moves them")
    func refused() throws {
        try withFolder(files: 2) { folder in
            // Nothing can be put below a file. A push of an empty folder makes the database, which has its id then.
            #expect(try RestoreTests.shell("mkdir empty", in: folder))
            let made = try UploaderProcess.run(
                "push", "--database", "a.sqlite", "--to", "dir:remote", "empty", in: folder)
            #expect(made.status == 0, "\(made.messages)")
            let id = try TestDatabase.namespace(of: folder.appendingPathComponent("a.sqlite"))
            #expect(try RestoreTests.shell("mkdir -p remote/\(id)", in: folder))
            let blocker = folder.appendingPathComponent("remote/\(id)/lfs-recovery")
            try Data("x".utf8).write(to: blocker)
            let unsaved = try push("--move", "--save-database", in: folder)
            #expect(unsaved.status == 3 && unsaved.messages.contains("the originals stay"), "\(unsaved.messages)")
            #expect(unsaved.summary?["uploaded"] as? Int == 2)
            #expect(try names(folder).count == 2)
            try FileManager.default.removeItem(at: blocker)
            let lock = folder.path + "/a.sqlite-moving"
            let locked = try UploaderProcess(
                ["push", "--database", "a.sqlite", "--to", "dir:remote", "--move", "files"], in: folder,
                through: ["/usr/bin/flock", lock]
            ).wait()
            #expect(locked.status == 3 && locked.messages.contains("another uploader moves originals"))
            #expect(try names(folder).count == 2)
            // Left by a process that has ended, it keeps nobody out.
            #expect(FileManager.default.fileExists(atPath: lock))
            #expect(try push("--move", in: folder).summary?["moved"] as? Int == 2)
            #expect(try names(folder).isEmpty && !FileManager.default.fileExists(atPath: lock))
        }
    }

    @Test("While an original is going nothing else removes its record, and a note of what was moved keeps it")
    func underWay() throws {
        try withFolder(files: 2) { folder in
            #expect(try push(in: folder).status == 0)
            let database = folder.appendingPathComponent("a.sqlite")
            try TestDatabase.execute(
                "INSERT INTO uploader_moved SELECT id, 1, 0 FROM uploader_document", in: database)
            let remove = try UploaderProcess(
                ["remove", "--database", "a.sqlite", "--to", "dir:remote", "files/0.bin"], in: folder
            ).wait()
            #expect(remove.status == 3 && remove.messages.contains("'push --move' is removing"), "\(remove.messages)")
            #expect(try TestDatabase.entries(in: database).count == 2)
            // The next push puts in order what a kill has left.
            #expect(try push(in: folder).status == 0)
            #expect(try TestDatabase.count("uploader_moved", in: database) == 0)
        }
    }

    @Test("What was moved is not gone: it is neither listed as such nor removed, until it was there again")
    func notGone() throws {
        try withFolder(files: 3) { folder in
            #expect(try push("--move", in: folder).status == 0)
            try Data("new".utf8).write(to: folder.appendingPathComponent("files/3.bin"))
            #expect(try push(in: folder).status == 0)
            #expect(try UploaderProcess.run("list", "--database", "a.sqlite", "--gone", in: folder).output.isEmpty)
            let remove = ["remove", "--database", "a.sqlite", "--to", "dir:remote", "--gone"]
            #expect(try UploaderProcess(remove, in: folder).wait().output.hasPrefix("0 removed"))
            // A new version that was pushed and deleted is.
            let file = folder.appendingPathComponent("files/0.bin")
            try Data("other".utf8).write(to: file)
            #expect(try push(in: folder).status == 0)
            try FileManager.default.removeItem(at: file)
            #expect(try UploaderProcess(remove, in: folder).wait().output.hasPrefix("1 removed"))
        }
    }

    @Test("An original stays whose object is missing or cut off, whose file is pinned, or that is open for writing")
    func stays() throws {
        try withFolder(files: 5) { folder in
            #expect(try push(in: folder).status == 0)
            let entries = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))
                .sorted { $0.path < $1.path }
            #expect(try UploaderProcess.run("pin", "--database", "a.sqlite", entries[0].id, in: folder).status == 0)
            try FileManager.default.removeItem(at: folder.appendingPathComponent("remote/\(entries[1].key)"))
            try Data("x".utf8).write(to: folder.appendingPathComponent("remote/\(entries[2].key)"))
            let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: entries[3].path))
            let moved = try push("--move", in: folder)
            try writer.close()
            #expect(moved.status == 3)
            #expect(moved.summary?["moved"] as? Int == 1 && moved.summary?["failed"] as? Int == 4)
            #expect(moved.messages.contains("it is pinned"), "\(moved.messages)")
            #expect(moved.messages.contains("the storage has other bytes"))
            #expect(moved.messages.components(separatedBy: "verify --repair").count == 3)
            #expect(moved.messages.contains("another program has it open for writing"))
            #expect(try names(folder) == ["0.bin", "1.bin", "2.bin", "3.bin"])
        }
    }

    @Test("One that was replaced, changed or is a link by now is left alone")
    func changed() throws {
        try withFolder { folder in
            let file = folder.appendingPathComponent("a").path
            let original = Original(path: FilePath(file), document: "1")
            func reason(_ change: () throws -> Void) throws -> String {
                try Data("one".utf8).write(to: URL(fileURLWithPath: file))
                let handle = try #require(FileHandle(forReadingAtPath: file))
                let stamp = try #require(AssetStamp(ofOpenFile: handle.fileDescriptor))
                try handle.close()
                try change()
                var linked = LinkedStamps()
                do { try original.remove(stamp.text, &linked) } catch { return "\(error)" }
                return ""
            }
            #expect(try reason {} == "")
            #expect(!FileManager.default.fileExists(atPath: file))
            #expect(try reason { try Data("two".utf8).write(to: URL(fileURLWithPath: file)) }.contains("has changed"))
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "two")
            // The size and the time of its content are as they were.
            let secret = try reason {
                var status = stat()
                #expect(stat(file, &status) == 0)
                let handle = try #require(FileHandle(forWritingAtPath: file))
                try handle.write(contentsOf: Data("eno".utf8))
                var times = [status.st_atim, status.st_mtim]
                #expect(futimens(handle.fileDescriptor, &times) == 0)
            }
            #expect(secret.contains("has changed"))
            let link = try reason {
                #expect(rename(file, file + ".real") == 0 && symlink(file + ".real", file) == 0)
            }
            #expect(link.contains("symbolic link"))
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["a", "a.real", "files"])
        }
    }

    @Test("One that was about to go has its name back after a kill, and no other file is lost for that")
    func killedBetween() throws {
        try withFolder(files: 3) { folder in
            #expect(try push("--free-uploaded", in: folder).status == 0)
            let database = folder.appendingPathComponent("a.sqlite")
            let files = folder.resolvingSymlinksInPath().appendingPathComponent("files")
            func id(_ name: String) throws -> String {
                let documents = try TestDatabase.documents(in: database)
                return try #require(documents[files.appendingPathComponent(name).path])
            }
            // As a run leaves it that was killed before, between and after the two steps.
            for name in ["0.bin", "1.bin", "2.bin"] {
                try TestDatabase.execute(
                    "INSERT INTO uploader_moved (documentId, movedAt) VALUES ('\(try id(name))', 1)", in: database)
            }
            let aside = files.appendingPathComponent(".\(try id("1.bin")).moved").path
            #expect(rename(files.path + "/1.bin", aside) == 0 && unlink(files.path + "/2.bin") == 0)
            let pushed = try push(in: folder)
            #expect(pushed.status == 0 && pushed.summary?["attached"] as? Int == 0, "\(pushed.messages)")
            #expect(try names(folder) == ["0.bin", "1.bin"])
            #expect(try TestDatabase.count("uploader_moved", in: database) == 1)
            #expect(try TestDatabase.count("uploader_moved WHERE isDone", in: database) == 1)

            // The name is taken by now: neither of the two goes.
            try TestDatabase.execute(
                "INSERT INTO uploader_moved (documentId, movedAt) VALUES ('\(try id("1.bin"))', 1)", in: database)
            #expect(rename(files.path + "/1.bin", aside) == 0)
            try Data("new".utf8).write(to: files.appendingPathComponent("1.bin"))
            let taken = try push("--exclude", ".*", in: folder)
            #expect(taken.status == 0 && taken.messages.contains("another version of it is ."), "\(taken.messages)")
            #expect(try names(folder).count == 3)
        }
    }

    /// 12 kills; `LFS_KILLS` sets another number.
    private static let kills = Int(ProcessInfo.processInfo.environment["LFS_KILLS"] ?? "") ?? 12

    @Test("Killed after any step, each file is here or on the storage, and the same command ends the work")
    func kill() throws {
        var killedInTime = 0
        for round in 0..<Self.kills {
            try withFolder(files: 120, byteCount: 4_000) { folder in
                let copy = folder.appendingPathComponent("copy")
                try FileManager.default.copyItem(at: folder.appendingPathComponent("files"), to: copy)
                let run = try UploaderProcess(
                    ["push", "--database", "a.sqlite", "--to", "dir:remote", "--json", "--move", "files"], in: folder)
                // After so many files of a step, from the first attached one to the last that went.
                let (step, count) = (["attached", "uploaded", "moved"][round % 3], Int.random(in: 1...120))
                while run.process.isRunning,
                    try run.outputSoFar().components(separatedBy: "\"event\":\"\(step)\"").count <= count
                { usleep(500) }
                Foundation.kill(run.process.processIdentifier, SIGKILL)
                if try run.wait().status == 128 + SIGKILL { killedInTime += 1 }
                try check(folder, copy, "killed after \(count) \(step)")
            }
        }
        #expect(killedInTime > Self.kills / 3, "The kills came too late to show anything: \(killedInTime)")
    }

    private func check(_ folder: URL, _ copy: URL, _ round: String) throws {
        let entries = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))
        let keys = Dictionary(
            entries.map { (($0.path as NSString).lastPathComponent, $0.key) }, uniquingKeysWith: { $1 })
        for number in 0..<120 {
            let (name, content) = ("\(number).bin", try Data(contentsOf: copy.appendingPathComponent("\(number).bin")))
            let original = folder.appendingPathComponent("files/\(name)")
            if FileManager.default.fileExists(atPath: original.path) {
                #expect(try Data(contentsOf: original) == content, "\(round)")
            } else {
                let key = try #require(keys[name], "\(round): \(name) is nowhere")
                #expect(try Data(contentsOf: folder.appendingPathComponent("remote/\(key)")) == content, "\(round)")
            }
        }
        let again = try push("--move", in: folder)
        #expect(again.status == 0, "\(round): \(again.messages)")
        #expect(try names(folder).isEmpty, "\(round)")
        let pulled = try UploaderProcess.run(
            "pull", "--database", "a.sqlite", "--to", "dir:remote", "--all", "--output", "out", in: folder)
        #expect(pulled.status == 0, "\(round): \(pulled.messages)")
        #expect(try system("diff", "-r", copy.path, folder.path + "/out/files"), "\(round)")
    }
}

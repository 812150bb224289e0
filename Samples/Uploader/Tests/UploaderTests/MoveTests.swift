import Crypto
import Foundation
import LFS
import LFSBackup
import Testing
import UploaderKit

@Suite("Moving originals", .timeLimit(.minutes(10)))
struct MoveTests {
    private func push(_ options: String..., in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess(
            ["push", "--database", "a.sqlite", "--to", "dir:remote", "--json"] + options + ["files"], in: folder
        ).wait()
    }

    private func names(_ folder: URL, path: String = "files") throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent(path).path))
    }

    @Test("Moving deletes uploaded originals, and pull restores them")
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
            // A file that an earlier run has uploaded is moved too.
            #expect(try push("--include", "0.bin", in: folder).status == 0)
            #expect(try system("touch", files.path + "/0.bin"))
            let moved = try push("--move", "--exclude", "*.tmp", in: folder)
            #expect(moved.status == 0, "\(moved.messages)")
            #expect(moved.summary?["moved"] as? Int == 6)
            #expect(moved.events.filter { $0["event"] as? String == "moved" }.count == 6)
            #expect(try names(folder) == ["deep", "keep.tmp", "link"] && names(folder, path: "files/deep").isEmpty)
            #expect(try names(folder, path: "a.sqlite.lfs").filter { $0.count == 36 }.isEmpty)
            let pulled = try UploaderProcess.run(
                "pull", "--database", "a.sqlite", "--to", "dir:remote", "--all", "--output", "out", in: folder)
            #expect(pulled.status == 0, "\(pulled.messages)")
            for name in (0..<5).map({ "\($0).bin" }) + ["deep/x"] {
                #expect(try system("cmp", copy.path + "/" + name, folder.path + "/out/files/" + name), "\(name)")
            }
        }
    }

    @Test("Moving deletes all hard links of a file in one run")
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

    @Test("A file that changes after another of its hard links was deleted is kept")
    func changedLink() throws {
        try withFolder { folder in
            let names = ["a", "b"].map { folder.appendingPathComponent($0).path }
            func remove(_ between: () throws -> Void) throws -> String {
                for name in names where access(name, F_OK) == 0 { #expect(unlink(name) == 0) }
                try Data("one".utf8).write(to: URL(fileURLWithPath: names[0]))
                #expect(link(names[0], names[1]) == 0)
                let handle = try #require(FileHandle(forReadingAtPath: names[0]))
                let stamp = try #require(AssetVersion(ofOpenFile: handle.fileDescriptor)).text
                try handle.close()
                var linked = LinkedStamps()
                let read = (sha256: sha256(of: "one"), at: Date())
                try Original(path: FilePath(names[0]), document: "1")
                    .remove(stamp, sha256: read.sha256, readAt: read.at, linked: &linked)
                try between()
                do {
                    try Original(path: FilePath(names[1]), document: "2")
                        .remove(stamp, sha256: read.sha256, readAt: read.at, linked: &linked)
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
            // A change between the last check and the removal cannot come from the removal of another link.
            var linked = LinkedStamps()
            let read = AssetVersion(byteCount: 3, text: "3:1.0:1.0:644:0:0")
            for (now, isSame) in [("3:1.0:2.0:644:0:0", true), ("3:1.5:2.0:644:0:0", false), ("", false)] {
                linked.note(read, since: AssetVersion(byteCount: 3, text: now))
                #expect((linked.asRead(now) == read.text) == isSame, "\(now)")
            }
            linked.note(read, since: AssetVersion(byteCount: 4, text: "4:1.0:2.0:644:0:0"))
            #expect(linked.asRead("4:1.0:2.0:644:0:0") != read.text)
            #expect(try String(contentsOfFile: names[1], encoding: .utf8) == "two")
        }
    }

    @Test("Moving keeps the original of a damaged object, which can repair it")
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

    @Test("Originals stay if the database cannot be saved or another uploader moves them")
    func refused() throws {
        try withFolder(files: 2) { folder in
            // No path can exist below a file. The push of an empty folder creates the database and its id.
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
            #expect(locked.status == 3 && locked.messages.contains("another uploader is moving originals"))
            #expect(try names(folder).count == 2)
            // A lock file of a process that has ended blocks no other process.
            #expect(FileManager.default.fileExists(atPath: lock))
            #expect(try push("--move", in: folder).summary?["moved"] as? Int == 2)
            #expect(try names(folder).isEmpty && !FileManager.default.fileExists(atPath: lock))
        }
    }

    @Test("A record stays while a move is deleting its original")
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
            // The next push cleans up after a killed one.
            #expect(try push(in: folder).status == 0)
            #expect(try TestDatabase.count("uploader_moved", in: database) == 0)
        }
    }

    @Test("A moved file is not treated as gone until it has existed again")
    func notGone() throws {
        try withFolder(files: 3) { folder in
            #expect(try push("--move", in: folder).status == 0)
            try Data("new".utf8).write(to: folder.appendingPathComponent("files/3.bin"))
            #expect(try push(in: folder).status == 0)
            #expect(try UploaderProcess.run("list", "--database", "a.sqlite", "--gone", in: folder).output.isEmpty)
            let remove = ["remove", "--database", "a.sqlite", "--to", "dir:remote", "--gone"]
            #expect(try UploaderProcess(remove, in: folder).wait().output.hasPrefix("0 removed"))
            // A new version that was pushed and then deleted counts as gone.
            let file = folder.appendingPathComponent("files/0.bin")
            try Data("other".utf8).write(to: file)
            #expect(try push(in: folder).status == 0)
            try FileManager.default.removeItem(at: file)
            #expect(try UploaderProcess(remove, in: folder).wait().output.hasPrefix("1 removed"))
        }
    }

    @Test("A file that is pushed again during its move is not recorded as moved")
    func pushedAgain() throws {
        try withFolder(files: 2) { folder in
            #expect(try push(in: folder).status == 0)
            let database = folder.appendingPathComponent("a.sqlite")
            // Another push would do the same if it attached a new original before the end of the move.
            try TestDatabase.execute(
                """
                CREATE TRIGGER attached AFTER INSERT ON uploader_moved WHEN NOT NEW.isDone
                BEGIN DELETE FROM uploader_moved WHERE documentId = NEW.documentId; END
                """, in: database)
            let moved = try push("--move", in: folder)
            #expect(moved.status == 0 && moved.summary?["moved"] as? Int == 2, "\(moved.messages)")
            #expect(try TestDatabase.count("uploader_moved", in: database) == 0)
        }
    }

    @Test("Moving keeps pinned and open originals, and those of bad objects")
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

    @Test("An original that was changed, replaced or became a link is kept")
    func changed() throws {
        try withFolder { folder in
            let file = folder.appendingPathComponent("a").path
            let original = Original(path: FilePath(file), document: "1")
            func reason(_ change: () throws -> Void) throws -> String {
                try Data("one".utf8).write(to: URL(fileURLWithPath: file))
                let handle = try #require(FileHandle(forReadingAtPath: file))
                let stamp = try #require(AssetVersion(ofOpenFile: handle.fileDescriptor))
                try handle.close()
                try change()
                var linked = LinkedStamps()
                do {
                    try original.remove(stamp.text, sha256: sha256(of: "one"), readAt: Date(), linked: &linked)
                } catch { return "\(error)" }
                return ""
            }
            #expect(try reason {} == "")
            #expect(!FileManager.default.fileExists(atPath: file))
            #expect(try reason { try Data("two".utf8).write(to: URL(fileURLWithPath: file)) }.contains("has changed"))
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "two")
            // Its size and modification time are unchanged.
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

    @Test("An original that was rewritten within a tick of its file system is kept")
    func rewrittenAtOnce() throws {
        try withFolder { folder in
            let file = folder.appendingPathComponent("a")
            try Data("two".utf8).write(to: file)
            let handle = try FileHandle(forReadingFrom: file)
            let stamp = try #require(AssetVersion(ofOpenFile: handle.fileDescriptor)).text
            try handle.close()
            // The stamp is that of the file now, but the bytes that were read in the same tick are others.
            let tick = try FileManager.default.attributesOfItem(atPath: file.path)[.modificationDate] as? Date
            let readAt = try #require(tick)
            let original = Original(path: FilePath(file.path), document: "1")
            var linked = LinkedStamps()
            #expect(throws: UploaderError.self) {
                try original.remove(stamp, sha256: sha256(of: "one"), readAt: readAt, linked: &linked)
            }
            #expect(try Data(contentsOf: file) == Data("two".utf8))
            try original.remove(stamp, sha256: sha256(of: "two"), readAt: readAt, linked: &linked)
            #expect(!FileManager.default.fileExists(atPath: file.path))
        }
    }

    private func sha256(of text: String) -> String {
        SHA256.hash(data: Data(text.utf8)).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    @Test("An interrupted move waits while the folder of its originals is missing")
    func killedBeforeUnmounting() throws {
        try withFolder(files: 2) { folder in
            #expect(try push("--free-uploaded", in: folder).status == 0)
            let database = folder.appendingPathComponent("a.sqlite")
            let files = folder.resolvingSymlinksInPath().appendingPathComponent("files")
            let documents = try TestDatabase.documents(in: database)
            for id in documents.values {
                try TestDatabase.execute(
                    "INSERT INTO uploader_moved (documentId, movedAt) VALUES ('\(id)', 1)", in: database)
            }
            let id = try #require(documents[files.appendingPathComponent("1.bin").path])
            #expect(rename(files.path + "/1.bin", files.path + "/.\(id).moved") == 0)
            let away = files.path + "-away"
            #expect(rename(files.path, away) == 0)
            let resumed = try UploaderProcess.run("resume", "--database", "a.sqlite", "--to", "dir:remote", in: folder)
            #expect(resumed.status == 0, "\(resumed)")
            #expect(try TestDatabase.count("uploader_moved WHERE NOT isDone", in: database) == 2)
            #expect(rename(away, files.path) == 0)
            #expect(try push(in: folder).status == 0)
            #expect(try names(folder) == ["0.bin", "1.bin"])
            #expect(try TestDatabase.count("uploader_moved", in: database) == 0)
        }
    }

    @Test("After a kill during a move, the next push restores the original's name")
    func killedBetween() throws {
        try withFolder(files: 3) { folder in
            #expect(try push("--free-uploaded", in: folder).status == 0)
            let database = folder.appendingPathComponent("a.sqlite")
            let files = folder.resolvingSymlinksInPath().appendingPathComponent("files")
            func id(_ name: String) throws -> String {
                let documents = try TestDatabase.documents(in: database)
                return try #require(documents[files.appendingPathComponent(name).path])
            }
            // The state of runs that were killed before, between and after the two steps.
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

            // The name is in use now, so both files stay.
            try TestDatabase.execute(
                "INSERT INTO uploader_moved (documentId, movedAt) VALUES ('\(try id("1.bin"))', 1)", in: database)
            #expect(rename(files.path + "/1.bin", aside) == 0)
            try Data("new".utf8).write(to: files.appendingPathComponent("1.bin"))
            let taken = try push("--exclude", ".*", in: folder)
            #expect(taken.status == 0 && taken.messages.contains("another version of it is ."), "\(taken.messages)")
            #expect(try names(folder).count == 3)
        }
    }

    /// The number of kills, 12 by default. `LFS_KILLS` sets another number.
    private static let kills = Int(ProcessInfo.processInfo.environment["LFS_KILLS"] ?? "") ?? 12

    @Test("A killed move loses no file, and repeating it completes the move")
    func kill() throws {
        var killedInTime = 0
        var round = 0
        // On a fast machine, more kills come too late to show anything.
        while round < Self.kills || killedInTime <= Self.kills / 3 {
            try withFolder(files: 120, byteCount: 4_000) { folder in
                let copy = folder.appendingPathComponent("copy")
                try FileManager.default.copyItem(at: folder.appendingPathComponent("files"), to: copy)
                let run = try UploaderProcess(
                    ["push", "--database", "a.sqlite", "--to", "dir:remote", "--json", "--move", "files"], in: folder)
                // The kill comes after a random number of files of a step.
                let (step, count) = (["attached", "uploaded", "moved"][round % 3], Int.random(in: 1...120))
                while run.process.isRunning,
                    try run.outputSoFar().components(separatedBy: "\"event\":\"\(step)\"").count <= count
                { usleep(500) }
                Foundation.kill(run.process.processIdentifier, SIGKILL)
                if try run.wait().status == 128 + SIGKILL { killedInTime += 1 }
                try check(folder, copy: copy, round: "killed after \(count) \(step)")
            }
            round += 1
        }
    }

    private func check(_ folder: URL, copy: URL, round: String) throws {
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

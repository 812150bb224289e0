import Dispatch
import Foundation
import Synchronization
import Testing

@Suite("Bad input gets a clear message and the right exit status", .timeLimit(.minutes(10)))
struct BadInputTests {
    private func push(
        _ folder: URL, _ arguments: [String] = [], database: String = "a.sqlite", to storage: String = "dir:remote",
        through wrapper: [String] = []
    ) throws -> UploaderProcess.Result {
        try UploaderProcess(
            ["push", "--database", database, "--to", storage, "--json"] + arguments + ["files"], in: folder,
            through: wrapper
        ).wait()
    }

    @Test("A missing folder for the database")
    func missingFolder() throws {
        try withFolder(files: 1) { folder in
            let result = try push(folder, database: "nowhere/a.sqlite")
            #expect(result.status == 1)
            #expect(result.messages.contains("nowhere for the database does not exist"))
        }
    }

    @Test("A text file given as database is left as it is")
    func textFile() throws {
        try withFolder(files: 1) { folder in
            let text = Data(String(repeating: "This is a diary.\n", count: 100).utf8)
            try text.write(to: folder.appendingPathComponent("diary.txt"))
            for command in ["push", "status"] {
                let result =
                    command == "push"
                    ? try push(folder, database: "diary.txt")
                    : try UploaderProcess.run("status", "--database", "diary.txt", in: folder)
                #expect(result.status == 1)
                #expect(result.messages.contains("is not a SQLite database"))
            }
            #expect(try Data(contentsOf: folder.appendingPathComponent("diary.txt")) == text)
            #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("diary.txt.lfs").path))
        }
    }

    @Test("No database to look at, and one that is not ours")
    func noDatabase() throws {
        try withFolder { folder in
            let result = try UploaderProcess.run("status", "--database", "a.sqlite", in: folder)
            #expect(result.status == 1)
            #expect(result.messages.contains("There is no database"))
            #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("a.sqlite").path))
        }
    }

    @Test(
        "A database from a newer version",
        arguments: [
            "UPDATE lfs_state SET schemaVersion = 99", "INSERT INTO grdb_migrations VALUES ('lfs.v99')",
            "INSERT INTO grdb_migrations VALUES ('uploader.v99')",
        ])
    func newerSchema(change: String) throws {
        try withFolder(files: 1) { folder in
            #expect(try push(folder).status == 0)
            try TestDatabase.execute(change, in: folder.appendingPathComponent("a.sqlite"))
            let result = try push(folder)
            #expect(result.status == 1)
            #expect(result.messages.contains("newer"))
        }
    }

    @Test("A storage that cannot be: its parent is missing, or it is a file")
    func impossibleStorage() throws {
        try withFolder(files: 1) { folder in
            let missing = try push(folder, to: "dir:no/such/parent")
            #expect(missing.status == 1)
            #expect(missing.messages.contains("parent folder is missing"))
            try Data().write(to: folder.appendingPathComponent("file"))
            #expect(try push(folder, to: "dir:file").status == 1)
        }
    }

    @Test("A storage folder without permission", .enabled(if: isRoot, "needs root to act as another user"))
    func forbiddenStorage() throws {
        try withFolder(files: 3) { folder in
            let remote = folder.appendingPathComponent("remote")
            try FileManager.default.createDirectory(at: remote, withIntermediateDirectories: true)
            #expect(try system("chmod", "755", folder.path))
            #expect(try system("chmod", "0755", remote.path))
            let work = folder.appendingPathComponent("work")
            try FileManager.default.createDirectory(at: work, withIntermediateDirectories: true)
            #expect(try system("chown", "-R", "65534:65534", work.path))
            let user = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            let result = try push(folder, database: work.appendingPathComponent("a.sqlite").path, through: user)
            #expect(result.status == 1)
            #expect(result.messages.contains("may not be written"))
        }
    }

    @Test("A read-only persistence location", .enabled(if: isRoot, "needs root to mount"))
    func readOnlyLocation() throws {
        try withFolder(files: 3) { folder in
            try withMount(folder, "ro") { mount in
                let result = try push(folder, ["--persistence-location", mount.path])
                #expect(result.status == 1)
                #expect(result.messages.contains("read-only"))
            }
        }
    }

    @Test("A full disk in the persistence location", .enabled(if: isRoot, "needs root to mount"))
    func fullDisk() throws {
        try withFolder(files: 60) { folder in
            // Room for what says whose it is, and for none of the files.
            try withMount(folder, "size=12k") { mount in
                let result = try push(folder, ["--persistence-location", mount.path])
                #expect(result.status == 3)
                #expect(result.messages.contains("the disk that holds \(mount.path) has no room for it"))
                let left = try FileManager.default.subpathsOfDirectory(atPath: mount.path).filter {
                    $0.contains("/") && !$0.hasSuffix("/staging.json") && !$0.hasSuffix("/staging.lock")
                }
                #expect(left.isEmpty)
            }
            let again = try push(folder)
            #expect(again.status == 0)
            let status = try UploaderProcess.run("status", "--database", "a.sqlite", "--json", in: folder)
            #expect(status.output.contains("\"remote\":60"))
        }
    }

    @Test("A full disk in the storage is waited for, and nothing is lost", .enabled(if: isRoot, "needs root to mount"))
    func fullStorage() throws {
        try withFolder(files: 60) { folder in
            try withMount(folder, "size=256k") { mount in
                let run = try UploaderProcess(
                    ["push", "--database", "a.sqlite", "--to", "dir:\(mount.path)/remote", "--json", "files"],
                    in: folder)
                // It fills up, is tried again, and goes on once there is room.
                while try !status(folder).contains("\"files\":60") { sched_yield() }
                #expect(run.process.isRunning)
                #expect(try system("mount", "-o", "remount,size=16m", mount.path))
                let result = try run.wait()
                #expect(result.status == 0)
                #expect(
                    result.events.contains {
                        $0["event"] as? String == "retrying" && $0["code"] as? String == "noSpace"
                    })
                #expect(result.summary?["uploaded"] as? Int == 60)
            }
        }
    }

    private func status(_ folder: URL) throws -> String {
        try UploaderProcess.run("status", "--database", "a.sqlite", "--json", in: folder).output
    }

    @Test("Names with newlines, of 255 bytes and with invalid UTF-8 are offloaded and come back")
    func strangeNames() throws {
        try withFolder { folder in
            let files = folder.appendingPathComponent("files").path
            let names: [[UInt8]] = [
                Array("two\nlines.txt".utf8), [UInt8](repeating: 0x61, count: 255), [0x66, 0xFF, 0xFE, 0x2E, 0x62],
                Array("caf\u{E9}".utf8), Array("cafe\u{301}".utf8), Array("-rf".utf8), Array("\u{1B}[31mred".utf8),
            ]
            for (index, name) in names.enumerated() {
                let path = (Array(files.utf8) + [0x2F] + name).map { CChar(bitPattern: $0) } + [0]
                let descriptor = open(path, O_WRONLY | O_CREAT, 0o644)
                #expect(descriptor >= 0)
                let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
                try handle.write(contentsOf: Data("content \(index)".utf8))
            }
            let result = try push(folder)
            #expect(result.status == 0)
            #expect(result.summary?["uploaded"] as? Int == names.count)
            #expect(!result.messages.contains("\u{1B}"))
            #expect(try push(folder).summary?["skipped"] as? Int == names.count)
            let pulled = try UploaderProcess.run(
                "pull", "--database", "a.sqlite", "--to", "dir:remote", "--all", "--output", "out", in: folder)
            #expect(pulled.status == 0)
            #expect(try system("diff", "-r", files, folder.appendingPathComponent("out/files").path))
        }
    }

    @Test("Pipes and folders that cannot be read are told, and the rest is pushed")
    func oddities() throws {
        try withFolder(files: 2) { folder in
            let files = folder.appendingPathComponent("files")
            try FileManager.default.createSymbolicLink(
                at: files.appendingPathComponent("link"), withDestinationURL: URL(fileURLWithPath: "/etc/passwd"))
            #expect(try system("mkfifo", files.appendingPathComponent("pipe").path))
            let result = try push(folder, ["missing-file"])
            #expect(result.summary?["attached"] as? Int == 2)
            #expect(result.summary?["skipped"] as? Int == 2)
            #expect(result.summary?["links"] as? Int == 1)
            #expect(result.messages.contains("missing-file"))
            // Pipes are left out on purpose; a file that was asked for and is not there is a failure.
            #expect(result.status == 3)
        }
    }

    @Test("A link that is named is followed, to a folder and to a file, and those inside are not")
    func namedLinks() throws {
        try withFolder(files: 3) { folder in
            let files = folder.appendingPathComponent("files")
            for (name, target) in [("folder", files), ("file.bin", files.appendingPathComponent("0.bin"))] {
                try FileManager.default.createSymbolicLink(
                    at: folder.appendingPathComponent(name), withDestinationURL: target)
            }
            try FileManager.default.createSymbolicLink(
                at: files.appendingPathComponent("inside"), withDestinationURL: folder)
            func push(_ paths: String...) throws -> UploaderProcess.Result {
                try UploaderProcess(
                    ["push", "--database", "a.sqlite", "--to", "dir:remote", "--json"] + paths, in: folder
                ).wait()
            }
            let first = try push("folder/", "file.bin")
            #expect(first.status == 0, "\(first.messages)")
            #expect(first.summary?["attached"] as? Int == 4)
            #expect(first.summary?["links"] as? Int == 1 && first.summary?["skipped"] as? Int == 0)
            #expect(try push("folder", "file.bin").summary?["skipped"] as? Int == 4)
            let pulled = try UploaderProcess.run(
                "pull", "--database", "a.sqlite", "--to", "dir:remote", "--all", "--output", "out", in: folder)
            #expect(pulled.status == 0, "\(pulled.messages)")
            for name in ["out/folder/0.bin", "out/file.bin"] {
                #expect(try system("cmp", files.appendingPathComponent("0.bin").path, folder.path + "/" + name))
            }
            // One that leads nowhere was asked for and is not there.
            try FileManager.default.removeItem(at: folder.appendingPathComponent("file.bin"))
            try FileManager.default.createSymbolicLink(
                at: folder.appendingPathComponent("file.bin"), withDestinationURL: folder.appendingPathComponent("no"))
            #expect(try push("file.bin").status == 3)
        }
    }

    @Test("A file that changes or vanishes while it is read is named, and the others are offloaded")
    func changingFile() throws {
        try withFolder(files: 3) { folder in
            let growing = folder.appendingPathComponent("files/growing.log")
            try randomData(40_000_000).write(to: growing)
            // It grows from before the first byte is read until after the last, on a thread of its own.
            let writer = try Appender(to: growing)
            let run = try UploaderProcess(
                ["push", "--database", "a.sqlite", "--to", "dir:remote", "--json", "files"], in: folder)
            let result = try run.wait()
            try writer.stop()
            #expect(result.status == 3)
            #expect(result.messages.contains("changed while it was read"))
            #expect(result.summary?["uploaded"] as? Int == 3)
            #expect(result.summary?["failed"] as? Int == 1)
        }
    }

    @Test("With --allow-changing a file that grows is taken as it was at the start")
    func growingFile() throws {
        try withFolder(files: 3) { folder in
            let growing = folder.appendingPathComponent("files/growing.log")
            try randomData(40_000_000).write(to: growing)
            let writer = try Appender(to: growing)
            let result = try push(folder, ["--allow-changing"])
            try writer.stop()
            #expect(result.status == 0, "\(result)")
            #expect(result.summary?["uploaded"] as? Int == 4)
            let entries = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))
            let key = try #require(entries.first { $0.path.hasSuffix("growing.log") }).key
            let object = try Data(contentsOf: folder.appendingPathComponent("remote/\(key)"))
            #expect(object.count > 40_000_000)
            #expect(try Data(contentsOf: growing).starts(with: object))
            // It has another stamp by now.
            #expect(try push(folder, ["--allow-changing"]).summary?["attached"] as? Int == 1)
        }
    }
}

/// A small file system of its own, gone afterwards.
func withMount(_ folder: URL, _ options: String, _ body: (URL) throws -> Void) throws {
    let mount = folder.appendingPathComponent("mount")
    try FileManager.default.createDirectory(at: mount, withIntermediateDirectories: true)
    try #require(try system("mount", "-t", "tmpfs", "-o", options, "tmpfs", mount.path))
    let result = Result { try body(mount) }
    #expect(try system("umount", mount.path))
    try result.get()
}

/// Makes a file longer and longer. Owner of whether it goes on: the mutex.
private final class Appender: Sendable {
    private let isStopped = Mutex(false)
    private let ended = DispatchSemaphore(value: 0)
    private let failure = Mutex<(any Error)?>(nil)

    /// Returns when the file has grown for the first time.
    init(to file: URL) throws {
        let handle = try FileHandle(forWritingTo: file)
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("more\n".utf8))
        Thread.detachNewThread { [self] in
            do {
                while !isStopped.withLock({ $0 }) { try handle.write(contentsOf: Data("more\n".utf8)) }
            } catch {
                failure.withLock { $0 = error }
            }
            ended.signal()
        }
    }

    func stop() throws {
        isStopped.withLock { $0 = true }
        ended.wait()
        if let failure = failure.withLock({ $0 }) { throw failure }
    }
}

import Dispatch
import Foundation
import Synchronization
import Testing

@Suite("Invalid input", .timeLimit(.minutes(10)))
struct BadInputTests {
    private func push(
        _ folder: URL, arguments: [String] = [], database: String = "a.sqlite", to storage: String = "dir:remote",
        through wrapper: [String] = []
    ) throws -> UploaderProcess.Result {
        try UploaderProcess(
            ["push", "--database", database, "--to", storage, "--json"] + arguments + ["files"], in: folder,
            through: wrapper
        ).wait()
    }

    @Test("A push fails with a clear message if the database's folder is missing")
    func missingFolder() throws {
        try withFolder(files: 1) { folder in
            let result = try push(folder, database: "nowhere/a.sqlite")
            #expect(result.status == 1)
            #expect(result.messages.contains("nowhere for the database does not exist"))
        }
    }

    @Test("A text file that is given as database stays unchanged")
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

    @Test("The status of a missing database is an error and creates no file")
    func noDatabase() throws {
        try withFolder { folder in
            let result = try UploaderProcess.run("status", "--database", "a.sqlite", in: folder)
            #expect(result.status == 1)
            #expect(result.messages.contains("There is no database"))
            #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("a.sqlite").path))
        }
    }

    @Test(
        "A database from a newer version is refused",
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

    @Test(
        "An invalid value of an option is refused with the valid ones",
        arguments: [
            (
                ["push", "--limit-rate", "fast", "files"],
                "'fast' is not a size. Write for example 512KiB, 2MiB or 5GiB."
            ),
            (["push", "--part-size", "x", "files"], "'x' is not a size."),
            (["free", "--keep-bytes", "x"], "'x' is not a size."),
            (["push", "--progress", "fancy", "files"], "for '--progress': Write auto, plain or none."),
            (["push", "--max-executors", "x", "files"], "for '--max-executors': Write a number from 1 to 1000."),
            (["push", "--max-executors", "1001", "files"], "for '--max-executors': Write a number from 1 to 1000."),
            (["verify", "--read-data=200%"], "for '--read-data': '200%' is not a share"),
            (["verify", "--read-share", "200%"], "for '--read-share': '200%' is not a share"),
            (["push", "--read-data=10%", "files"], "There is no option '--read-data'."),
        ])
    func optionValues(words: [String], reason: String) throws {
        try withFolder(files: 1) { folder in
            let run = try UploaderProcess([words[0], "--database", "a.sqlite"] + words.dropFirst(), in: folder).wait()
            #expect(run.status == 64 && run.messages.contains(reason), "\(run.messages)")
        }
    }

    @Test("A storage with a missing parent folder or a file in its place is refused")
    func impossibleStorage() throws {
        try withFolder(files: 1) { folder in
            let missing = try push(folder, to: "dir:no/such/parent")
            #expect(missing.status == 1)
            #expect(missing.messages.contains("parent folder is missing"))
            try Data().write(to: folder.appendingPathComponent("file"))
            #expect(try push(folder, to: "dir:file").status == 1)
        }
    }

    @Test("A storage folder without write access is refused", .enabled(if: isRoot, "needs root to act as another user"))
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

    @Test("A read-only persistence location is refused", .enabled(if: isRoot, "needs root to mount"))
    func readOnlyLocation() throws {
        try withFolder(files: 3) { folder in
            try withMount(folder, options: "ro") { mount in
                let result = try push(folder, arguments: ["--persistence-location", mount.path])
                #expect(result.status == 1)
                #expect(result.messages.contains("read-only"))
            }
        }
    }

    @Test(
        "A push to a full persistence location fails and can be repeated", .enabled(if: isRoot, "needs root to mount"))
    func fullDisk() throws {
        try withFolder(files: 60) { folder in
            // The disk has room for the marker files, but not for any pushed file.
            try withMount(folder, options: "size=12k") { mount in
                let result = try push(folder, arguments: ["--persistence-location", mount.path])
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

    @Test("A push waits while the storage is full, and loses no file", .enabled(if: isRoot, "needs root to mount"))
    func fullStorage() throws {
        try withFolder(files: 60) { folder in
            try withMount(folder, options: "size=256k") { mount in
                let run = try UploaderProcess(
                    ["push", "--database", "a.sqlite", "--to", "dir:\(mount.path)/remote", "--json", "files"],
                    in: folder)
                // The storage fills up. The push retries, and continues once there is room.
                while run.process.isRunning,
                    try !run.outputSoFar().contains("\"noSpace\"") || !status(folder).contains("\"files\":60")
                { sched_yield() }
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

    @Test("Names with newlines, 255 bytes and invalid UTF-8 are pushed and pulled")
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

    @Test("Pipes and unreadable paths are reported, and the other files are pushed")
    func oddities() throws {
        try withFolder(files: 2) { folder in
            let files = folder.appendingPathComponent("files")
            try FileManager.default.createSymbolicLink(
                at: files.appendingPathComponent("link"), withDestinationURL: URL(fileURLWithPath: "/etc/passwd"))
            #expect(try system("mkfifo", files.appendingPathComponent("pipe").path))
            let result = try push(folder, arguments: ["missing-file"])
            #expect(result.summary?["attached"] as? Int == 2)
            #expect(result.summary?["skipped"] as? Int == 2)
            #expect(result.summary?["links"] as? Int == 1)
            #expect(result.messages.contains("missing-file"))
            // Pipes are skipped on purpose. A missing file that the user named is a failure.
            #expect(result.status == 3)
        }
    }

    @Test("Links that are named on the command line are followed, nested links are not")
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
            // A named link with a missing target is a failure.
            try FileManager.default.removeItem(at: folder.appendingPathComponent("file.bin"))
            try FileManager.default.createSymbolicLink(
                at: folder.appendingPathComponent("file.bin"), withDestinationURL: folder.appendingPathComponent("no"))
            #expect(try push("file.bin").status == 3)
        }
    }

    @Test("A file that changes while it is read is reported, and the others are pushed")
    func changingFile() throws {
        try withFolder(files: 3) { folder in
            let growing = folder.appendingPathComponent("files/growing.log")
            try randomData(40_000_000).write(to: growing)
            // A separate thread appends to the file from before the first read until after the last.
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

    /// A file of the kernel: its size is a page, and its content is a few bytes.
    private static let kernelFile = "/sys/devices/system/cpu/online"

    @Test(
        "A file with fewer bytes than its size is not reported as changing",
        .enabled(if: FileManager.default.isReadableFile(atPath: "/sys/devices/system/cpu/online"), "needs /sys"))
    func shorterThanItsSize() throws {
        try withFolder(files: 3) { folder in
            let result = try push(folder, arguments: [Self.kernelFile])
            #expect(result.status == 3, "\(result)")
            #expect(result.messages.contains("could be read"), "\(result)")
            #expect(!result.messages.contains("changed while it was read"), "\(result)")
            #expect(result.summary?["uploaded"] as? Int == 3)
        }
    }

    @Test("With --allow-changing a growing file is pushed as it was at the start")
    func growingFile() throws {
        try withFolder(files: 3) { folder in
            let growing = folder.appendingPathComponent("files/growing.log")
            try randomData(40_000_000).write(to: growing)
            let writer = try Appender(to: growing)
            let result = try push(folder, arguments: ["--allow-changing"])
            try writer.stop()
            #expect(result.status == 0, "\(result)")
            #expect(result.summary?["uploaded"] as? Int == 4)
            let entries = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))
            let key = try #require(entries.first { $0.path.hasSuffix("growing.log") }).key
            let object = try Data(contentsOf: folder.appendingPathComponent("remote/\(key)"))
            #expect(object.count > 40_000_000)
            #expect(try Data(contentsOf: growing).starts(with: object))
            // Its stamp has changed since.
            #expect(try push(folder, arguments: ["--allow-changing"]).summary?["attached"] as? Int == 1)
        }
    }
}

/// Mounts a small temporary file system for the duration of `body`.
func withMount(_ folder: URL, options: String, _ body: (URL) throws -> Void) throws {
    let mount = folder.appendingPathComponent("mount")
    try FileManager.default.createDirectory(at: mount, withIntermediateDirectories: true)
    try #require(try system("mount", "-t", "tmpfs", "-o", options, "tmpfs", mount.path))
    let result = Result { try body(mount) }
    #expect(try system("umount", mount.path))
    try result.get()
}

/// Appends to a file until it is stopped. The mutex owns the flag.
private final class Appender: Sendable {
    private let isStopped = Mutex(false)
    private let ended = DispatchSemaphore(value: 0)
    private let failure = Mutex<(any Error)?>(nil)

    /// Returns after the first append.
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

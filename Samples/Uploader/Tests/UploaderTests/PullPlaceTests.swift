import Foundation
import LFS
import Testing
import UploaderKit

@Suite("Output folders of a pull", .timeLimit(.minutes(10)))
struct PullPlaceTests {
    private func run(_ command: String, arguments: [String], in folder: URL) throws -> UploaderProcess.Result {
        try RestoreTests.run(command, arguments: arguments, in: folder)
    }

    private func shell(_ script: String, in folder: URL) throws -> Bool {
        try RestoreTests.shell(script, in: folder)
    }

    @Test(
        "The outermost of nested pushed folders determines the layout of a pull",
        arguments: [
            ["a", "a/b"], ["a/b", "a"], ["a/b/c.txt", "a/b", "a"], ["a/b/c.txt", "a"], ["./a/b/../", "a/b"],
        ])
    func layout(_ pushes: [String]) throws {
        try withFolder { folder in
            #expect(
                try shell("mkdir -p a/b/empty; echo 1 > a/1.txt; echo c > a/b/c.txt; ln -s c.txt a/b/l", in: folder))
            for path in pushes {
                #expect(try run("push", arguments: [path], in: folder).status == 0)
                #expect(try shell("echo \(path) > a/b/$(echo \(path) | tr / _).new", in: folder))
            }
            for path in pushes.reversed() { #expect(try run("push", arguments: [path], in: folder).status == 0) }
            #expect(try run("pull", arguments: ["--all", "--output", "out"], in: folder).status == 0)
            #expect(try shell("test \"$(ls out)\" = a", in: folder))
            #expect(try RestoreTests.difference("a", other: "out/a", in: folder) == "")
            // Patterns match the path below that folder.
            #expect(
                try run("pull", arguments: ["--all", "--include", "/b/c.txt", "--output", "some"], in: folder).status
                    == 0)
            let some = try FileManager.default.subpathsOfDirectory(atPath: folder.path + "/some")
            #expect(some.sorted() == ["a", "a/b", "a/b/c.txt"])
        }
    }

    @Test("Concurrent pulls into one folder succeed, and write each file once")
    func together() throws {
        try withFolder(files: 60, byteCount: 30_000) { folder in
            #expect(try run("push", arguments: ["--copy", "--free-uploaded", "files"], in: folder).status == 0)
            let pulls = try (0..<3).map { _ in
                try UploaderProcess(
                    ["pull", "--database", "a.sqlite", "--to", "dir:remote", "--all", "--output", "out", "--json"],
                    in: folder)
            }
            let results = try pulls.map { try $0.wait() }
            for result in results {
                #expect(result.status == 0, "\(result.messages)")
                let summary = result.summary ?? [:]
                let counts = ["pulled", "unchanged"].compactMap { summary[$0] as? Int }
                #expect(counts.reduce(0, +) == 60, "\(summary)")
            }
            #expect(try RestoreTests.difference("files", other: "out/files", in: folder) == "")
            #expect(try shell("test $(ls -A out/files | wc -l) = 60", in: folder))
        }
    }

    @Test("A file that another pull is writing is retried, and reported if it stays locked")
    func beingWritten() throws {
        try withFolder(files: 200, byteCount: 2_000) { folder in
            #expect(try run("push", arguments: ["--copy", "--free-uploaded", "files"], in: folder).status == 0)
            let entries = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))
            // The pull starts with this file.
            let first = try #require(entries.min { $0.id < $1.id })
            let name = URL(fileURLWithPath: first.path).lastPathComponent
            let out = folder.appendingPathComponent("out/files")
            try FileManager.default.createDirectory(at: out, withIntermediateDirectories: true)
            let part = out.appendingPathComponent(PartName.of(Array(name.utf8), id: try #require(FileID(first.id))))
            try Data().write(to: part)
            let held = try FileHandle(forUpdating: part)
            #expect(flock(held.fileDescriptor, LOCK_EX) == 0)
            let pull = ["--all", "--output", "out", "--json"]
            let refused = try run("pull", arguments: pull, in: folder)
            #expect(refused.status == 3 && refused.summary?["pulled"] as? Int == 199, "\(refused.messages)")
            #expect(refused.messages.contains("\(name) is being written by another pull"), "\(refused.messages)")
            // The downloaded bytes of this file do not block later files.
            for file in try FileManager.default.contentsOfDirectory(atPath: out.path) where file.hasSuffix(".bin") {
                try FileManager.default.removeItem(at: out.appendingPathComponent(file))
            }
            let process = try UploaderProcess(
                ["pull", "--database", "a.sqlite", "--to", "dir:remote"] + pull, in: folder)
            // The file is retried after all others.
            while process.process.isRunning, try FileManager.default.contentsOfDirectory(atPath: out.path).count < 60 {
                usleep(1_000)
            }
            try FileManager.default.removeItem(at: part)
            try held.close()
            let done = try process.wait()
            #expect(done.status == 0 && done.summary?["pulled"] as? Int == 200, "\(done.messages)")
            // A folder with the name of a part file is not another pull.
            try FileManager.default.removeItem(at: out.appendingPathComponent(name))
            try FileManager.default.createDirectory(at: part, withIntermediateDirectories: false)
            let taken = try run("pull", arguments: pull, in: folder)
            #expect(taken.status == 3 && taken.messages.contains("is in the way: remove it"), "\(taken.messages)")
        }
    }

    @Test("A dry run of a pull reports writes and conflicts, and writes nothing")
    func dryRun() throws {
        try withFolder(files: 4, byteCount: 1_024) { folder in
            #expect(try shell("mkdir files/empty; ln -s 0.bin files/link", in: folder))
            #expect(try run("push", arguments: ["--copy", "files"], in: folder).status == 0)
            let pull = ["--all", "--output", "out"]
            let first = try run("pull", arguments: pull + ["--dry-run"], in: folder)
            #expect(first.status == 0)
            let expected = "4 files to write, 4.0 KiB (0 B to download), 2 folders, 1 link, 0 unchanged, 0 failed\n"
            #expect(first.output.hasSuffix(expected), "\(first.output)")
            #expect(first.output.contains("/out/files/3.bin  1.0 KiB\n"))
            #expect(!FileManager.default.fileExists(atPath: folder.path + "/out"))

            #expect(try UploaderProcess.run("free", "--database", "a.sqlite", in: folder).status == 0)
            #expect(
                try shell("mkdir -p out/files; cp -p files/0.bin out/files; echo mine > out/files/1.bin", in: folder))
            let second = try run("pull", arguments: pull + ["-n", "--json"], in: folder)
            #expect(second.status == 3)
            #expect(second.messages.contains("out/files/1.bin exists with other content and is not overwritten"))
            let figures = try #require(second.summary)
            for (key, count) in [
                "files": 2, "bytes": 2_048, "fetchedBytes": 2_048, "overwritten": 0, "unchanged": 1, "failed": 1,
            ] { #expect(figures[key] as? Int == count, "\(key)") }
            let third = try run("pull", arguments: pull + ["-n", "--json", "--overwrite"], in: folder)
            #expect(third.status == 0 && third.summary?["overwritten"] as? Int == 1)
            let events = third.events.filter { $0["event"] as? String == "wouldOverwrite" }
            #expect(events.count == 1 && (events[0]["path"] as? String)?.hasSuffix("/out/files/1.bin") == true)
            #expect(
                try shell("test \"$(cat out/files/1.bin)\" = mine && test \"$(ls out/files | wc -l)\" = 2", in: folder))
            let here = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/a.sqlite.lfs")
            #expect(here.allSatisfy { $0.count != 36 }, "nothing was fetched")
        }
    }

    @Test("A dry run of a pull needs no download for intact originals")
    func dryRunInPlace() throws {
        try withFolder(files: 3, byteCount: 1_024) { folder in
            #expect(try run("push", arguments: ["files"], in: folder).status == 0)
            #expect(try shell("echo other > files/1.bin; rm files/2.bin", in: folder))
            let preview = try run("pull", arguments: ["--all", "--output", "out", "-n", "--json"], in: folder)
            #expect(preview.status == 0, "\(preview.messages)")
            #expect(preview.summary?["bytes"] as? Int == 3_072 && preview.summary?["fetchedBytes"] as? Int == 2_048)
        }
    }

    @Test("A pull changes existing files and their attributes only with --overwrite")
    func overwrite() throws {
        try withFolder(files: 3) { folder in
            #expect(try shell("chmod 640 files/*.bin; chmod 750 files", in: folder))
            #expect(try run("push", arguments: ["files"], in: folder).status == 0)
            let make =
                "mkdir -p out/files; cp files/0.bin out/files; chmod 600 out/files/0.bin; echo mine > out/files/1.bin"
            #expect(try shell(make, in: folder))
            let kept = try run("pull", arguments: ["--all", "--output", "out"], in: folder)
            #expect(kept.status == 3)
            let words = "1 file and 1 folder that already existed keep their own times or permissions"
            #expect(kept.messages.contains(words), "\(kept.messages)")
            #expect(
                try shell("test $(stat -c %a out/files/0.bin) = 600; test $(cat out/files/1.bin) = mine", in: folder))
            let over = try run("pull", arguments: ["--all", "--output", "out", "--overwrite"], in: folder)
            #expect(over.status == 0, "\(over.messages)")
            #expect(try RestoreTests.difference("files", other: "out/files", in: folder) == "")
        }
    }

    @Test("A confirmed pull in place restores files, and keeps changed ones")
    func inPlace() throws {
        try withFolder(files: 4) { folder in
            #expect(try shell("mkdir -p files/empty files/x; echo y > files/x/y; ln -s x/y files/link", in: folder))
            #expect(try run("push", arguments: ["files"], in: folder).status == 0)
            #expect(try shell("cp -a files before", in: folder))
            #expect(try shell("rm -r files/x files/0.bin files/link files/empty; echo mine > files/1.bin", in: folder))
            let asked = try run("pull", arguments: ["--all", "--in-place"], in: folder)
            #expect(asked.status == 1 && asked.messages.contains("Give --yes"), "\(asked.messages)")
            #expect(try shell("test ! -e files/0.bin", in: folder))
            let preview = try run("pull", arguments: ["--all", "--in-place", "-n"], in: folder)
            #expect(preview.status == 3 && preview.output.contains("2 files to write"), "\(preview.output)")

            let pulled = try run("pull", arguments: ["--all", "--in-place", "--yes"], in: folder)
            #expect(pulled.status == 3 && pulled.messages.contains("files/1.bin exists with other content"))
            #expect(
                try shell(
                    "test \"$(cat files/1.bin)\" = mine; cmp files/x/y before/x/y; test -L files/link", in: folder))
            let over = try run("pull", arguments: ["--all", "--in-place", "--yes", "--overwrite"], in: folder)
            #expect(over.status == 0, "\(over.messages)")
            #expect(try RestoreTests.difference("before", other: "files", in: folder) == "")
            // The pull also works if no part of the folder is left.
            #expect(try shell("rm -r files", in: folder))
            #expect(try run("pull", arguments: ["--all", "--in-place", "--yes"], in: folder).status == 0)
            #expect(try RestoreTests.difference("before", other: "files", in: folder) == "")
        }
    }

    @Test("A folder that a pull in place cannot create is reported without an option")
    func impossibleFolder() throws {
        try withFolder(files: 1) { folder in
            #expect(try shell("mkdir above; mv files above", in: folder))
            #expect(try run("push", arguments: ["--copy", "above/files"], in: folder).status == 0)
            #expect(try shell("rm -r above; ln -s nowhere above", in: folder))
            let pulled = try run("pull", arguments: ["--all", "--in-place", "--yes"], in: folder)
            #expect(pulled.status == 3 && pulled.messages.contains("/above cannot be created"), "\(pulled.messages)")
            #expect(!pulled.messages.contains("--output"), "\(pulled.messages)")
        }
    }

    @Test(
        "A pull in place writes only after a yes on the terminal", arguments: [("n", false), ("", false), ("y", true)])
    func question(answer: String, isWritten: Bool) throws {
        try withFolder(files: 1) { folder in
            #expect(try run("push", arguments: ["files"], in: folder).status == 0)
            #expect(try shell("rm files/0.bin", in: folder))
            let pull = #"script -qec "'$0' $*" /dev/null"#
            let result = try UploaderProcess(
                ["pull"] + RestoreTests.storage + ["--all", "--in-place"], in: folder,
                through: ["/bin/sh", "-c", "printf '\(answer)\\n' | \(pull)"]
            ).wait()
            #expect(result.output.contains("Continue? [y/N]"), "\(result.output)")
            #expect(result.status == (isWritten ? 0 : 1))
            #expect(FileManager.default.fileExists(atPath: folder.path + "/files/0.bin") == isWritten)
        }
    }

    @Test("A pull into the pushed folder is refused, and an output is required")
    func wrongOutput() throws {
        try withFolder(files: 1) { folder in
            #expect(try run("push", arguments: ["files"], in: folder).status == 0)
            #expect(try shell("ln -s files other", in: folder))
            for output in ["files", "./files/", "other"] {
                for options in [[], ["-n"]] {
                    let pulled = try run("pull", arguments: ["--all", "--output", output] + options, in: folder)
                    #expect(
                        pulled.status == 1 && pulled.messages.contains("--in-place"), "\(output) \(pulled.messages)")
                }
            }
            #expect(try shell("test ! -e files/files", in: folder))
            for options in [[], ["--output", "x", "--in-place"], ["--output", ""]] {
                #expect(try run("pull", arguments: ["--all"] + options, in: folder).status == 64)
            }
            // The parent folder is allowed, because the files are at their places in it.
            let above = try run("pull", arguments: ["--all", "--output", ".", "--json"], in: folder)
            #expect(above.status == 0 && above.summary?["unchanged"] as? Int == 1, "\(above.messages)")
        }
    }

    @Test("Files of equally named folders get distinct names in one output folder")
    func sameNames() throws {
        try withFolder { folder in
            let make = """
                mkdir -p x/notes y/notes; echo 1 > x/notes/todo.txt; echo 2 > y/notes/todo.txt
                ln -s 1 x/notes/link; ln -s 2 y/notes/link; mkdir before; cp -a x y before
                """
            #expect(try shell(make, in: folder))
            #expect(try run("push", arguments: ["x/notes", "y/notes"], in: folder).status == 0)
            #expect(try run("pull", arguments: ["--all", "--output", "out"], in: folder).status == 0)
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/out/notes")
            #expect(names.count == 4 && names.filter { $0.hasSuffix("-todo.txt") }.count == 2, "\(names)")
            #expect(names.filter { $0.hasSuffix("-link") }.count == 2)
            #expect(try run("pull", arguments: ["--all", "--output", "out"], in: folder).status == 0)
            #expect(try shell("rm x/notes/* y/notes/*", in: folder))
            #expect(try run("pull", arguments: ["--all", "--in-place", "--yes"], in: folder).status == 0)
            #expect(try shell("diff -r --no-dereference before/x x; diff -r --no-dereference before/y y", in: folder))
        }
    }

    @Test("Long names in equally named folders are shortened at their beginning", arguments: ["a", "\u{6F22}"])
    func longNames(letter: String) throws {
        try withFolder { folder in
            let name = String(repeating: letter, count: 240 / letter.utf8.count)
            let make = """
                mkdir -p x/notes y/notes; echo 1 > x/notes/\(name).txt; echo 2 > y/notes/\(name).txt
                ln -s 1 x/notes/\(name).lnk; ln -s 2 y/notes/\(name).lnk
                """
            #expect(try shell(make, in: folder))
            #expect(try run("push", arguments: ["x/notes", "y/notes"], in: folder).status == 0)
            let pull = ["--all", "--output", "out", "--json"]
            let pulled = try run("pull", arguments: pull, in: folder)
            #expect(pulled.status == 0 && pulled.summary?["pulled"] as? Int == 2, "\(pulled.messages)")
            let out = folder.appendingPathComponent("out/notes")
            let names = try FileManager.default.contentsOfDirectory(atPath: out.path)
            #expect(names.count == 4 && names.allSatisfy { $0.utf8.count <= 255 }, "\(names)")
            let files = names.filter { $0.hasSuffix("\(letter).txt") }
            let contents = try files.map { try String(contentsOf: out.appendingPathComponent($0), encoding: .utf8) }
            #expect(contents.sorted() == ["1\n", "2\n"])
            #expect(names.filter { $0.hasSuffix("\(letter).lnk") }.count == 2, "\(names)")
            // Without a character that was cut in half, the name is valid UTF-8.
            #expect(!names.contains { $0.contains("\u{FFFD}") }, "\(names)")
            let again = try run("pull", arguments: pull, in: folder)
            #expect(again.status == 0 && again.summary?["unchanged"] as? Int == 2, "\(again.messages)")
        }
    }

    @Test("A file that replaced a folder gets its id in the name next to that folder")
    func fileInPlaceOfFolder() throws {
        try withFolder { folder in
            #expect(try shell("mkdir -p files/d; echo x > files/d/x", in: folder))
            #expect(try run("push", arguments: ["files"], in: folder).status == 0)
            #expect(try shell("rm -r files/d; echo d > files/d", in: folder))
            #expect(try run("push", arguments: ["files"], in: folder).status == 0)
            let pulled = try run("pull", arguments: ["--all", "--output", "out"], in: folder)
            #expect(pulled.status == 0, "\(pulled.messages)")
            #expect(try shell("cmp files/d out/files/*-d; test \"$(cat out/files/d/x)\" = x", in: folder))
        }
    }

    @Test("Files of another device cannot be pulled in place")
    func otherDevice() throws {
        try withFolder(files: 2) { folder in
            #expect(try run("push", arguments: ["files"], in: folder).status == 0)
            let other = String(repeating: "0", count: 32)
            try TestDatabase.execute(
                "UPDATE lfs_state SET namespace = '\(other)'", in: folder.appendingPathComponent("a.sqlite"))
            let pulled = try run("pull", arguments: ["--all", "--in-place", "-n"], in: folder)
            #expect(pulled.status == 3 && pulled.messages.contains("comes from another device"), "\(pulled.messages)")
        }
    }
}

import Foundation
import Testing

@Suite("Safety of restored links", .timeLimit(.minutes(10)))
struct RestoreLinkTests {
    private func run(_ command: String, arguments: String..., in folder: URL) throws -> UploaderProcess.Result {
        try RestoreTests.run(command, arguments: arguments, in: folder)
    }

    private func shell(_ script: String, in folder: URL) throws -> Bool {
        try RestoreTests.shell(script, in: folder)
    }

    @Test("A pull never writes through a symbolic link")
    func throughLinks() throws {
        try withFolder { folder in
            let make =
                "mkdir -p outside files/a; echo precious > outside/x; echo backup > files/a/x; echo y > files/a/y"
            #expect(try shell(make, in: folder))
            #expect(try run("push", arguments: "files", in: folder).status == 0)
            // The folder is replaced by a link, and its files stay recorded.
            #expect(try shell("rm -r files/a; ln -s ../../outside files/a", in: folder))
            #expect(try run("push", arguments: "files", in: folder).status == 0)
            #expect(try shell("cp -r outside before", in: folder))

            let first = try run("pull", arguments: "--all", "--output", "out", in: folder)
            #expect(first.status == 3)
            #expect(first.messages.contains("out/files/a is in the way: it is not a link"), "\(first.messages)")
            #expect(try shell("diff -r outside before && test -d out/files/a && test ! -L out/files/a", in: folder))

            // Pulls the link first, and then a file below it.
            #expect(try run("pull", arguments: "files/a", "--output", "second", in: folder).status == 0)
            #expect(try shell("test -L second/files/a", in: folder))
            let second = try run("pull", arguments: "files/a/x", "--overwrite", "--output", "second", in: folder)
            #expect(second.status == 3)
            #expect(second.messages.contains("second/files/a is in the way: it is not a folder"), "\(second.messages)")
            #expect(try shell("diff -r outside before", in: folder))
            #expect(try shell("mkdir -p third/files && ln -s ../../outside third/files/a", in: folder))
            for options in [[], ["--overwrite"], ["--dry-run"], ["--dry-run", "--overwrite"]] {
                let run = try RestoreTests.run("pull", arguments: ["--all", "--output", "third"] + options, in: folder)
                #expect(run.status == 3, "\(options)")
                #expect(run.messages.contains("third/files/a is in the way: it is not a folder"), "\(run.messages)")
                #expect(try shell("diff -r outside before", in: folder), "\(options)")
            }
            // A link in the place of a file is neither followed nor replaced.
            #expect(try shell("mkdir -p fourth/files/a; ln -s ../../../outside/x fourth/files/a/x", in: folder))
            let fourth = try run("pull", arguments: "--all", "--overwrite", "--output", "fourth", in: folder)
            #expect(fourth.messages.contains("fourth/files/a/x is in the way: it is not a file"), "\(fourth.messages)")
            #expect(try shell("diff -r outside before && test -L fourth/files/a/x", in: folder))
        }
    }

    @Test("A file that was replaced by a link is restored together with the link")
    func fileBecameLink() throws {
        try withFolder(files: 2) { folder in
            #expect(try run("push", arguments: "files", in: folder).status == 0)
            #expect(try shell("cp files/0.bin old; rm files/0.bin; ln -s 1.bin files/0.bin", in: folder))
            #expect(try run("push", arguments: "files", in: folder).status == 0)
            let pulled = try run("pull", arguments: "--all", "--output", "out", in: folder)
            #expect(pulled.status == 0, "\(pulled.messages)")
            #expect(try shell("test \"$(readlink out/files/0.bin)\" = 1.bin; cmp old out/files/*-0.bin", in: folder))
            // A link that was replaced by a file is not recorded as a link any more.
            #expect(try shell("rm files/0.bin; echo new > files/0.bin", in: folder))
            #expect(try run("push", arguments: "files", in: folder).status == 0)
            #expect(try run("pull", arguments: "--all", "--output", "second", in: folder).status == 0)
            #expect(try RestoreTests.difference("files", other: "second/files", in: folder) == "")
        }
    }

    @Test("A link with another target is a conflict, which --overwrite resolves")
    func otherTarget() throws {
        try withFolder(files: 1) { folder in
            #expect(try shell("ln -s 0.bin files/link; mkdir -p out/files; ln -s mine out/files/link", in: folder))
            #expect(try run("push", arguments: "files", in: folder).status == 0)
            let kept = try run("pull", arguments: "--all", "--output", "out", in: folder)
            #expect(kept.status == 3)
            #expect(kept.messages.contains("out/files/link exists with another target"), "\(kept.messages)")
            #expect(try shell("test \"$(readlink out/files/link)\" = mine", in: folder))
            #expect(try run("pull", arguments: "--all", "--output", "out", "--overwrite", in: folder).status == 0)
            #expect(try shell("test \"$(readlink out/files/link)\" = 0.bin", in: folder))
        }
    }

    @Test("Links and empty folders are pulled and removed by name")
    func names() throws {
        try withFolder(files: 1) { folder in
            let make =
                "mkdir -p files/x/empty files/y; echo 1 > files/x/1.txt; ln -s 1.txt files/x/l.txt; ln -s x files/l"
            #expect(try shell(make, in: folder))
            #expect(try run("push", arguments: "files", in: folder).status == 0)
            func found(_ output: String) throws -> Set<String> {
                Set(try FileManager.default.subpathsOfDirectory(atPath: folder.path + "/\(output)/files"))
            }
            for (number, name) in ["files/x", "files/x/", "x"].enumerated() {
                #expect(try run("pull", arguments: name, "--output", "out\(number)", in: folder).status == 0)
                #expect(try found("out\(number)") == ["x", "x/empty", "x/1.txt", "x/l.txt"], "\(name)")
            }
            #expect(try run("pull", arguments: "files/l", "--output", "link", in: folder).status == 0)
            #expect(try found("link") == ["l"])
            #expect(
                try run("pull", arguments: "--all", "--include", "*.txt", "--output", "txt", in: folder).status == 0)
            #expect(try found("txt") == ["x", "x/1.txt", "x/l.txt"])
            let preview = try run("remove", arguments: "-n", "files/x", in: folder)
            #expect(preview.output.contains("1 file to remove, 3 folders and links to forget"), "\(preview.output)")
            #expect(try run("remove", arguments: "files/x", in: folder).status == 0)
            #expect(try run("pull", arguments: "--all", "--output", "rest", in: folder).status == 0)
            #expect(try found("rest") == ["y", "l", "0.bin"])
            // With a filter, only folders that contain a selected file are counted.
            let filtered = try UploaderProcess.run(
                "push", "--database", "b.sqlite", "--to", "dir:b", "--include", "*.txt", "files", in: folder)
            #expect(filtered.status == 0, "\(filtered)")
            #expect(filtered.output.contains("2 folders recorded, 1 link recorded"), "\(filtered)")
        }
    }

    @Test(
        "A row with invalid values is reported and writes to no other place",
        arguments: [
            "path = '/../../escaped'", "path = path || '/../../../../escaped'", "path = ''", "path = 5",
            "path = X'2F00'", "target = ''", "target = X'00'", "target = 7.5", "mode = 99999", "mode = 'x'",
            "seconds = 'soon'", "nanoseconds = -1", "title = X'FF'", "userId = -1", "path = '/', title = '/'",
            "path = '//x', title = 'a/b'",
        ])
    func oddRows(_ change: String) throws {
        try withFolder(files: 2) { folder in
            #expect(
                try shell(
                    "mkdir -p box files/empty files/full; echo 1 > files/full/1; ln -s 1 files/full/l", in: folder))
            #expect(try run("push", arguments: "files", in: folder).status == 0)
            let column = change.hasPrefix("target") ? "target IS NOT NULL" : "path LIKE '%/empty'"
            try TestDatabase.execute(
                "UPDATE OR REPLACE uploader_entry SET \(change) WHERE \(column)",
                in: folder.appendingPathComponent("a.sqlite"))
            for options in [["--dry-run"], [], ["--overwrite"]] {
                let pulled = try RestoreTests.run(
                    "pull", arguments: ["--all", "--output", "box/out"] + options, in: folder)
                #expect([0, 3].contains(pulled.status), "\(options) \(pulled.status) \(pulled.messages)")
                if options == ["--dry-run"] { continue }
                #expect(try shell("cmp files/full/1 box/out/files/full/1; test ! -e box/escaped", in: folder))
                #expect(try shell("test \"$(ls box)\" = out && test ! -e escaped", in: folder))
            }
            #expect(try run("push", arguments: "files", in: folder).status == 0, "and the next push mends it")
            #expect(try run("pull", arguments: "--all", "--output", "second", in: folder).status != 1)
        }
    }
}

import Foundation
import Testing

@Suite("Filters", .timeLimit(.minutes(10)))
struct FilterTests {
    private static let storage = ["--database", "a.sqlite", "--to", "dir:remote"]

    private func withTree(_ body: (URL) throws -> Void) throws {
        try withFolder { folder in
            for name in ["a.jpg", "b.txt", "x/a.jpg", "x/c.tmp", "x/y/d.heic", "cache/e.jpg"] {
                let file = folder.appendingPathComponent("files/\(name)")
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(name.utf8).write(to: file)
            }
            try body(folder)
        }
    }

    private func run(_ command: String, arguments: [String], in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess([command] + Self.storage + arguments, in: folder).wait()
    }

    private func documents(_ folder: URL) throws -> Set<String> {
        let root = folder.resolvingSymlinksInPath().path + "/files/"
        return Set(
            try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite")).map {
                String($0.path.dropFirst(root.count))
            })
    }

    static let filters: [([String], Set<String>)] = [
        (["--include", "*.jpg"], ["a.jpg", "x/a.jpg", "cache/e.jpg"]),
        (["--exclude", "cache/", "--exclude", "*.tmp"], ["a.jpg", "b.txt", "x/a.jpg", "x/y/d.heic"]),
        (["--include", "/x/**"], ["x/a.jpg", "x/c.tmp", "x/y/d.heic"]),
        (["--include", "*.heic", "--exclude", "x/**"], ["x/y/d.heic"]),
    ]

    @Test("Push, its dry run and pull apply the filters", arguments: filters)
    func push(options: [String], expected: Set<String>) throws {
        try withTree { folder in
            let preview = try run("push", arguments: options + ["--dry-run", "files"], in: folder)
            #expect(preview.output.contains("\(expected.count) file"), "\(preview.output)")
            let pushed = try run("push", arguments: options + ["files"], in: folder)
            #expect(pushed.status == 0, "\(pushed.messages)")
            #expect(try documents(folder) == expected)
            #expect(try run("push", arguments: ["files"], in: folder).status == 0)
            let pulled = try run("pull", arguments: options + ["--all", "--output", "out"], in: folder)
            #expect(pulled.status == 0, "\(pulled.messages)")
            let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path + "/out/files")
            #expect(Set(files.filter { $0.contains(".") }) == expected)
        }
    }

    @Test("A list of --files-from selects the listed files, and missing ones are reported")
    func list() throws {
        try withTree { folder in
            let list = folder.appendingPathComponent("list")
            try Data("# photos\n; and\n/x/a.jpg\r\n./b.txt\n\nx/../a.jpg\n".utf8).write(to: list)
            #expect(try run("push", arguments: ["--files-from", "list", "files"], in: folder).status == 0)
            #expect(try documents(folder) == ["x/a.jpg", "b.txt", "a.jpg"])
            try Data("x/y/d.heic\nx/nothing\n".utf8).write(to: list)
            let pushed = try run("push", arguments: ["--files-from", "list", "files"], in: folder)
            #expect(pushed.status == 3)
            #expect(
                pushed.messages.contains("failed x/nothing: it is listed, but the folders contain no such file"))
            #expect(try documents(folder).contains("x/y/d.heic"))
            let pulled = try run("pull", arguments: ["--all", "--output", "out", "--files-from", "list"], in: folder)
            #expect(pulled.status == 3 && pulled.output.contains("1 pulled, 1 failed"))
            #expect(pulled.messages.contains("failed x/nothing: it is listed, but the database has no such file"))
            // A shell passes the list as a pipe.
            let piped = try UploaderProcess(
                ["push"] + Self.storage + ["-n", "--files-from", "/dev/stdin", "files"], in: folder,
                through: ["/bin/sh", "-c", #"printf 'x/c.tmp\n' | "$0" "$@""#]
            ).wait()
            #expect(piped.status == 0 && piped.output.contains("1 file to attach"), "\(piped.messages)")
            try Data("# nothing\n".utf8).write(to: list)
            for command in [["push", "files"], ["push", "files", "-n"], ["pull", "--all", "--output", "out"]] {
                let empty = try run(command[0], arguments: ["--files-from", "list"] + command.dropFirst(), in: folder)
                #expect(empty.status == 1)
                #expect(empty.messages.contains("list lists no file."))
            }
            #expect(
                try run("push", arguments: ["--files-from", "away", "files"], in: folder).messages.contains(
                    "cannot be read"))
        }
    }

    @Test("A list with null bytes is refused, and --files-from0 accepts it")
    func zeros() throws {
        try withTree { folder in
            let list = folder.appendingPathComponent("list")
            try Data("a.jpg\0x/a.jpg\0".utf8).write(to: list)
            for command in [["push", "files"], ["push", "-n", "files"]] {
                let refused = try run(
                    command[0], arguments: ["--files-from", "list"] + command.dropFirst(), in: folder)
                #expect(refused.status == 1 && refused.messages.contains("--files-from0"), "\(refused)")
            }
            let pushed = try run("push", arguments: ["--files-from0", "list", "files"], in: folder)
            #expect(pushed.status == 0, "\(pushed.messages)")
            #expect(try documents(folder) == ["a.jpg", "x/a.jpg"])
            // A line break is part of the name.
            try Data("new\nline\0# name\0".utf8).write(to: list)
            for name in ["new\nline", "# name"] {
                try Data("x".utf8).write(to: folder.appendingPathComponent("files/" + name))
            }
            #expect(try run("push", arguments: ["--files-from0", "list", "files"], in: folder).status == 0)
            #expect(try documents(folder).isSuperset(of: ["new\nline", "# name"]))
            let both = try run(
                "push", arguments: ["--files-from0", "list", "--files-from", "list", "files"], in: folder)
            #expect(both.status == 64, "\(both.messages)")
        }
    }

    @Test("A list that matches no file is an error", arguments: [[], ["--exclude", "*.jpg"]])
    func nothingListed(_ options: [String]) throws {
        try withTree { folder in
            let name = options.isEmpty ? "nothing.jpg" : "a.jpg"
            try Data("\(name)\n".utf8).write(to: folder.appendingPathComponent("list"))
            for words in [["files"], ["-n", "files"]] {
                let pushed = try run("push", arguments: options + ["--files-from", "list"] + words, in: folder)
                #expect(pushed.status == 1 && pushed.messages.contains("list names no file"), "\(pushed)")
            }
        }
    }

    @Test("A byte order mark at the start of a list is ignored")
    func byteOrderMark() throws {
        try withTree { folder in
            try Data("\u{FEFF}a.jpg\nb.txt\n".utf8).write(to: folder.appendingPathComponent("list"))
            let pushed = try run("push", arguments: ["--files-from", "list", "files"], in: folder)
            #expect(pushed.status == 0, "\(pushed.messages)")
            #expect(try documents(folder) == ["a.jpg", "b.txt"])
        }
    }

    @Test("A listed path outside the folder is reported", arguments: ["..", "../a.jpg", "x/../../a.jpg", "."])
    func outside(_ line: String) throws {
        try withTree { folder in
            try Data("x".utf8).write(to: folder.appendingPathComponent("a.jpg"))
            try Data("\(line)\nb.txt\n".utf8).write(to: folder.appendingPathComponent("list"))
            let pushed = try run("push", arguments: ["--files-from", "list", "files"], in: folder)
            #expect(pushed.status == 3 && pushed.messages.contains("failed \(line): it is listed"), "\(pushed)")
            #expect(try documents(folder) == ["b.txt"])
            let pulled = try run("pull", arguments: ["--all", "--output", "out", "--files-from", "list"], in: folder)
            #expect(pulled.status == 3 && pulled.messages.contains("failed \(line): it is listed"), "\(pulled)")
        }
    }

    @Test("A malformed pattern stops the command before it starts")
    func illegal() throws {
        try withTree { folder in
            let pushed = try run("push", arguments: ["--exclude", "a***", "files"], in: folder)
            #expect(pushed.status == 64)
            #expect(pushed.messages.contains("has more than two stars in a row"))
            #expect(!FileManager.default.fileExists(atPath: folder.path + "/a.sqlite"))
        }
    }
}

import Foundation
import Testing

@Suite("Clear cache, log out and full reset", .timeLimit(.minutes(10)))
struct RemovalTests {
    /// A text whose letters occur in no id and no hash.
    private static let sentinel = "zqxjkvwyh"

    private func settings(_ arguments: String..., in folder: URL) throws -> UploaderProcess.Result {
        let (command, rest) = (arguments[0], arguments.dropFirst())
        return try UploaderProcess(["settings", command, "--database", "a.sqlite"] + rest, in: folder).wait()
    }

    /// Pushes copies of two files whose names and contents have the sentinel.
    private func push(_ folder: URL) throws {
        for number in 0..<2 {
            let url = folder.appendingPathComponent("files/\(Self.sentinel)-\(number).txt")
            try Data("\(Self.sentinel) \(number)".utf8).write(to: url)
        }
        let pushed = try UploaderProcess.run(
            "push", "--copy", "--database", "a.sqlite", "--to", "dir:\(Self.sentinel)", "files", in: folder)
        #expect(pushed.status == 0, "\(pushed.messages)")
        for (key, value) in [
            ("account.serverURL", "https://\(Self.sentinel).example"), ("backup.groups", "include:/\(Self.sentinel)"),
            ("cleanup.keepsFolders", "/\(Self.sentinel)"), ("backup.delay", "10m"),
        ] {
            #expect(try settings("set", key, value, in: folder).status == 0)
        }
    }

    /// Returns the files of the database that contain the sentinel.
    private func found(in folder: URL) throws -> [String] {
        let names = try #require(FileManager.default.enumerator(atPath: folder.path)?.allObjects as? [String])
        return names.filter { name in
            guard name.hasPrefix("a.sqlite") else { return false }
            let data = try? Data(contentsOf: folder.appendingPathComponent(name))
            return data?.firstRange(of: Data(Self.sentinel.utf8)) != nil
        }.sorted()
    }

    @Test("Clear cache asks first, removes the local copies, and pull restores them")
    func cache() throws {
        try withFolder { folder in
            try push(folder)
            let asked = try settings("clear-cache", in: folder)
            #expect(asked.status == 1 && asked.messages.contains("Give --yes as well"), "\(asked)")
            #expect(try found(in: folder).count >= 3)
            let cleared = try settings("clear-cache", "--yes", in: folder)
            #expect(cleared.status == 0 && cleared.output.hasPrefix("2 files"), "\(cleared)")
            #expect(try found(in: folder) == ["a.sqlite"])
            let pulled = try UploaderProcess.run(
                "pull", "--database", "a.sqlite", "--all", "--output", "copy", in: folder)
            #expect(pulled.status == 0, "\(pulled.messages)")
        }
    }

    @Test(
        "After a removal, no file of the database has its data",
        arguments: [("log-out", "10m"), ("full-reset", "0")])
    func erased(_ command: String, delay: String) throws {
        try withFolder { folder in
            try push(folder)
            #expect(try settings(command, in: folder).status == 1)
            #expect(try found(in: folder).count >= 3)
            let removed = try settings(command, "--yes", in: folder)
            #expect(removed.status == 0, "\(removed)")
            #expect(try found(in: folder) == [])
            #expect(try settings("get", "backup.delay", in: folder).output == "\(delay)\n")
            #expect(try settings("get", "account.serverURL", in: folder).status == 1)
            // The objects and the originals stay, and the database is usable.
            let folders = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(folders.contains(Self.sentinel))
            let original = folder.appendingPathComponent("files/\(Self.sentinel)-0.txt")
            #expect(FileManager.default.fileExists(atPath: original.path))
            let pushed = try UploaderProcess.run(
                "push", "--database", "a.sqlite", "--to", "dir:other", "files", in: folder)
            #expect(pushed.status == 0, "\(pushed.messages)")
        }
    }

    @Test(
        "A removal on a terminal follows the answer", arguments: ["clear-cache", "log-out", "full-reset"],
        [true, false])
    func answered(_ command: String, isConfirmed: Bool) throws {
        try withFolder { folder in
            try push(folder)
            let terminal = #"script -qec "'$0' $*" /dev/null"#
            let result = try UploaderProcess(
                ["settings", command, "--database", "a.sqlite"], in: folder,
                through: ["/bin/sh", "-c", "printf '\(isConfirmed ? "y" : "n")\\n' | \(terminal)"]
            ).wait()
            #expect(result.output.contains("Continue? [y/N]"), "\(result.output)")
            let removed = ["log-out": "The account and all files", "full-reset": "All files and all settings"]
            if let removed = removed[command] {
                let words = "\(removed) of a.sqlite are removed from this device. Only this database knows which object"
                #expect(result.output.contains(words), "\(result.output)")
            }
            #expect(result.status == (isConfirmed ? 0 : 1))
            #expect(result.output.contains("Nothing was removed.") != isConfirmed, "\(result.output)")
            let found = try found(in: folder)
            if isConfirmed {
                #expect(found == (command == "clear-cache" ? ["a.sqlite"] : []))
            } else {
                #expect(found.count >= 3)
            }
        }
    }

    @Test(
        "A removal warns unless the storage has an up-to-date copy of the database",
        arguments: ["log-out", "full-reset"], [false, true])
    func saved(_ command: String, isOutdated: Bool) throws {
        try withFolder { folder in
            try push(folder)
            let words = ["push", "--copy", "--database", "a.sqlite"]
            let saved = try UploaderProcess(words + ["--save-database", "files"], in: folder).wait()
            #expect(saved.status == 0, "\(saved.messages)")
            if isOutdated {
                try Data("later".utf8).write(to: folder.appendingPathComponent("files/later"))
                let later = try UploaderProcess(words + ["--no-save-database", "files"], in: folder).wait()
                #expect(later.status == 0, "\(later.messages)")
            }
            let terminal = #"script -qec "'$0' $*" /dev/null"#
            let result = try UploaderProcess(
                ["settings", command, "--database", "a.sqlite"], in: folder,
                through: ["/bin/sh", "-c", "printf 'n\\n' | \(terminal)"]
            ).wait()
            #expect(result.output.contains("Continue? [y/N]"), "\(result.output)")
            #expect(result.output.contains("Only this database knows") == isOutdated, "\(result.output)")
            #expect(result.output.contains("the last copy of it lacks later changes.") == isOutdated)
        }
    }

    @Test("Files that are not on the storage are removed only with --lose-files")
    func lost() throws {
        try withFolder { folder in
            try push(folder)
            let database = folder.appendingPathComponent("a.sqlite")
            let entry = try #require(try TestDatabase.entries(in: database).first)
            try TestDatabase.forgetUpload(of: entry.id, in: database)
            let refused = try settings("full-reset", "--yes", in: folder)
            #expect(refused.status == 1 && refused.messages.contains("1 file not on the storage"), "\(refused)")
            #expect(try found(in: folder).count >= 3)
            #expect(try settings("full-reset", "--yes", "--lose-files", in: folder).status == 0)
            #expect(try found(in: folder) == [])
        }
    }
}

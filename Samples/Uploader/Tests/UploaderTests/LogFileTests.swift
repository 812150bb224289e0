import Foundation
import Testing

@Suite("Log files", .timeLimit(.minutes(10)))
struct LogFileTests {
    private func uploader(_ words: String..., in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess(
            [words[0], "--database", "a.sqlite", "--to", "dir:remote", "--log-file", "a.log"] + words.dropFirst(),
            in: folder
        ).wait()
    }

    /// Returns the lines without their timestamps, after a check that each starts with one.
    private func lines(_ folder: URL) throws -> [String] {
        let text = try String(contentsOf: folder.appendingPathComponent("a.log"), encoding: .utf8)
        return text.split(separator: "\n").map { line in
            let parts = line.split(separator: " ", maxSplits: 1)
            #expect((try? Date(String(parts[0]), strategy: .iso8601)) != nil, "\(line)")
            return parts.count > 1 ? String(parts[1]) : ""
        }
    }

    @Test("The log has the lines of --verbose, and the next run appends to it", arguments: ["--quiet", "--json"])
    func lines(option: String) throws {
        try withFolder(files: 2) { folder in
            #expect(try uploader("push", option, "files", in: folder).status == 0)
            let first = try lines(folder)
            #expect(first.count { $0.hasPrefix("attached ") } == 2)
            #expect(first.count { $0.hasPrefix("uploaded ") && $0.contains("/files/") } == 2)
            #expect(first.last?.hasPrefix("2 attached, 2 uploaded, 0 failed") == true)
            let key = try #require(TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite")).first).key
            try FileManager.default.removeItem(at: folder.appendingPathComponent("remote/\(key)"))
            #expect(try uploader("verify", option, in: folder).status == 5)
            #expect(try uploader("remove", option, "nowhere", in: folder).status == 3)
            let all = try lines(folder)
            #expect(all.starts(with: first))
            #expect(all.contains { $0.hasPrefix("missingRemotely ") && $0.hasSuffix("--repair uploads it.") })
            #expect(all.contains { $0.contains("1 finding, 1 left") })
            #expect(all.contains { $0.hasPrefix("failed nowhere: no file has") })
        }
    }

    @Test("A log file in a pushed folder is not pushed itself")
    func same() throws {
        try withFolder(files: 3) { folder in
            let run = try UploaderProcess.run(
                "push", "--database", "a.sqlite", "--to", "dir:remote", "--log-file", "files/a.log", "--verbose",
                "files", in: folder)
            #expect(run.status == 0)
            let log = try String(contentsOf: folder.appendingPathComponent("files/a.log"), encoding: .utf8)
            let logged = log.split(separator: "\n").map { $0.split(separator: " ", maxSplits: 1)[1] }
            let shown = run.output.split(separator: "\n").filter { !$0.hasPrefix("Only the database") }
            #expect(logged.sorted() == shown.sorted())
            #expect(try TestDatabase.count("lfs_file", in: folder.appendingPathComponent("a.sqlite")) == 3)
        }
    }

    @Test("A log that cannot be opened stops the command before it starts")
    func refused() throws {
        try withFolder(files: 1) { folder in
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent("a.log"), withIntermediateDirectories: false)
            for words in [["push", "files"], ["push", "--dry-run", "files"], ["verify"]] {
                let run = try UploaderProcess(
                    [words[0], "--database", "a.sqlite", "--to", "dir:remote", "--log-file", "a.log"]
                        + words.dropFirst(), in: folder
                ).wait()
                #expect(run.status == 1)
                #expect(run.messages.contains("The log a.log cannot be opened: Is a directory."), "\(run.messages)")
            }
            #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("a.sqlite").path))
            #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("remote").path))
        }
    }

    @Test("A log on a full disk is reported once, and the push completes")
    func full() throws {
        try withFolder(files: 3) { folder in
            let run = try UploaderProcess.run(
                "push", "--database", "a.sqlite", "--to", "dir:remote", "--log-file", "/dev/full", "files", in: folder)
            #expect(run.status == 0)
            let told = run.messages.split(separator: "\n").filter { $0.contains("The log /dev/full cannot be written") }
            #expect(told.count == 1)
        }
    }
}

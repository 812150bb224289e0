import Foundation
import Testing

@Suite("Pulling old versions", .timeLimit(.minutes(10)))
struct VersionPullTests {
    private func mode(_ path: String, files: VersionedFiles) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(
            atPath: files.folder.appendingPathComponent(path).path)
        return try #require(attributes[.posixPermissions] as? Int)
    }

    private func date(_ path: String, files: VersionedFiles) throws -> Date {
        let attributes = try FileManager.default.attributesOfItem(
            atPath: files.folder.appendingPathComponent(path).path)
        return try #require(attributes[.modificationDate] as? Date)
    }

    @Test("An id pulls the old version with its time and permissions")
    func byID() throws {
        try withVersionedFiles { files in
            try files.write("one")
            #expect(
                try system(
                    "sh", "-c", "cd '\(files.folder.path)/files' && chmod 640 a && touch -d '2019-03-01 01:02:03.25' a")
            )
            try files.push("--keep-versions", "forever")
            try files.push(["two", "three"])
            let ids = try files.old()
            try #require(ids.count == 2)
            for (id, text, folder) in [(ids[1], "one", "whole"), (String(ids[1].prefix(30)), "one", "part")] {
                try files.run("pull", words: id, "--output", folder)
                #expect(files.read("\(folder)/files/a") == text)
                #expect(try mode("\(folder)/files/a", files: files) == 0o640)
                #expect(
                    try abs(date("\(folder)/files/a", files: files).timeIntervalSince1970 - 1_551_402_123.25) < 86_400)
                let local = files.folder.appendingPathComponent("a.sqlite.lfs/\(ids[1])").path
                #expect(!FileManager.default.fileExists(atPath: local))
            }
            #expect(
                try date("whole/files/a", files: files).timeIntervalSince1970.truncatingRemainder(dividingBy: 1) == 0.25
            )
            // `--all` pulls only current files.
            try files.run("pull", words: "--all", "--output", "now")
            #expect(files.read("now/files/a") == "three")
            #expect(try FileManager.default.contentsOfDirectory(atPath: "\(files.folder.path)/now/files") == ["a"])
        }
    }

    @Test("A pulled old version replaces the current file only with --overwrite")
    func conflicts() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two"], words: "--keep-versions", "forever")
            let id = try #require(try files.old().first)
            let preview = try files.run("pull", words: id, "--in-place", "--dry-run", "--overwrite", "--json")
            let would = try #require(preview.events.first)
            #expect(would["event"] as? String == "wouldOverwrite" && would["id"] as? String == id)
            #expect(would["bytes"] as? Int == 3 && preview.summary?["fetchedBytes"] as? Int == 3)
            try files.run("pull", words: id, "--in-place", "--dry-run", exit: 3)
            let refused = try files.run("pull", words: id, "--in-place", "--yes", exit: 3)
            #expect(refused.messages.contains("exists with other content and is not overwritten"))
            #expect(files.read("files/a") == "two")
            try files.run("pull", words: id, "--in-place", "--yes", "--overwrite")
            #expect(files.read("files/a") == "one")
            // The old version becomes current when it is pushed, without an upload.
            let summary = try files.push()
            #expect(summary["attached"] as? Int == 1 && summary["uploaded"] as? Int == 0)
            #expect(try files.old().count == 2 && files.objects() == 2)
        }
    }

    @Test("The beginning of an id is enough if it is unambiguous")
    func beginning() throws {
        try withVersionedFiles { files in
            try files.push(["one", "two"], words: "--keep-versions", "forever")
            let id = try #require(try files.old().first)
            let many = try files.run("pull", words: String(id.prefix(8)), "--output", "out", exit: 3)
            #expect(many.messages.contains("2 ids start like this"), "\(many.messages)")
            #expect(
                try files.run("pull", words: String(id.prefix(7)), "--output", "out", exit: 3).messages.contains(
                    "no file"))
            // Two files had the same content. Each of them gets its own version.
            try files.write("one", to: "b")
            try files.push()
            try files.write("other", to: "b")
            try files.push()
            try files.sql("DELETE FROM uploader_replaced WHERE fileId <> '\(id)'")
            try files.run("pull", words: String(id.prefix(30)), "--output", "both")
            #expect(files.read("both/files/a") == "one" && files.read("both/files/b") == "one")
            // While a file has this content, the id names the current file.
            try files.write("one", to: "b")
            try files.push()
            try files.run("pull", words: id, "--output", "current")
            #expect(files.read("current/files/a") == nil && files.read("current/files/b") == "one")
        }
    }

    // MARK: As of a time

    /// Creates a file with three contents in March 2026 (days 1 to 10, 10 to 20, and from 20), and a second file of day
    /// 15.
    private func past(_ files: VersionedFiles) throws {
        try files.push(["one", "two", "three"], words: "--keep-versions", "forever")
        try files.write("late", to: "b")
        try files.push()
        func time(_ day: Int) -> String { "unixepoch('2026-03-\(day < 10 ? "0" : "")\(day) 12:00:00')" }
        func text(_ day: Int) -> String { "'2026-03-\(day < 10 ? "0" : "")\(day) 12:00:00.500'" }
        let hex = String(Int(1_772_366_400_500 + 14 * 86_400_000), radix: 16)
        let first = String(Int(1_772_366_400_500), radix: 16)
        func id(_ hex: String, last: String) -> String {
            let digits = String(repeating: "0", count: 12 - hex.count) + hex
            return "'\(digits.prefix(8))-\(digits.suffix(4))-7000-8000-00000000000\(last)'"
        }
        try files.sql(
            "UPDATE uploader_replaced SET addedAt = \(text(1)), replacedAt = \(time(10)) + 0.5 WHERE id = 1",
            "UPDATE uploader_replaced SET addedAt = \(text(10)), replacedAt = \(time(20)) + 0.5 WHERE id = 2",
            "UPDATE uploader_document SET addedAt = \(text(20)), id = \(id(first, last: "1")) WHERE path LIKE '%/a'",
            "UPDATE uploader_replaced SET documentId = \(id(first, last: "1"))",
            "UPDATE uploader_document SET addedAt = \(text(15)), id = \(id(hex, last: "2")) WHERE path LIKE '%/b'")
    }

    @Test("A pull with --as-of writes the files of that time")
    func asOf() throws {
        try withVersionedFiles { files in
            try past(files)
            let cases: [(String, String?, String?)] = [
                ("2026-03-01T11:59:59Z", nil, nil), ("2026-03-01T12:00:00Z", "one", nil), ("2026-03-05", "one", nil),
                ("2026-03-10T12:59:59+01:00", "one", nil), ("2026-03-10 12:00:00Z", "two", nil),
                ("2026-03-16", "two", "late"), ("2026-03-20T11:59Z", "two", "late"),
                ("2026-03-20T12:00:00.9Z", "three", "late"), ("2026-11-25T00:00-0500", "three", "late"),
            ]
            for (index, (time, a, b)) in cases.enumerated() {
                let pulled = try files.run("pull", words: "--all", "--as-of", time, "--output", "out\(index)", "--json")
                #expect(files.read("out\(index)/files/a") == a, "\(time)")
                #expect(files.read("out\(index)/files/b") == b, "\(time)")
                #expect(pulled.summary?["skipped"] as? Int == (a == nil ? 1 : 0) + (b == nil ? 1 : 0), "\(time)")
            }
            for (name, text) in [("files/a", "two"), ("files", "two"), ("*", "two")] {
                try files.run(
                    "pull", words: name, "--as-of", "2026-03-16T00:00:00Z", "--output", "named", "--overwrite")
                #expect(files.read("named/files/a") == text)
            }
            // A named file without a version at that time is reported.
            for words in [["files/a"], ["files"], ["files/a", "--dry-run"], ["files/a", "files/b", "--json"]] {
                let early = ["pull", "--as-of", "2026-03-01T11:59:59Z", "--output", "early"]
                let none = try UploaderProcess(
                    early + ["--database", "a.sqlite", "--to", "dir:remote"] + words, in: files.folder
                ).wait()
                #expect(none.status == 3, "\(none)")
                #expect(none.messages.contains("/files/a: it was not pushed yet at that time"), "\(none)")
            }
            // Each of them is reported, also if another file existed at that time.
            let both = try files.run(
                "pull", words: "files/a", "files/b", "--as-of", "2026-03-05", "--output", "both", "--json", exit: 3)
            #expect(both.summary?["pulled"] as? Int == 1 && both.summary?["skipped"] as? Int == 0, "\(both)")
            #expect(both.messages.contains("/files/b: it was not pushed yet at that time"), "\(both)")
            let partly = try files.run("pull", words: "files", "--as-of", "2026-03-05", "--output", "partly", "--json")
            #expect(partly.summary?["skipped"] as? Int == 1 && partly.summary?["pulled"] as? Int == 1)
            let preview = try files.run(
                "pull", words: "files/a", "--as-of", "2026-03-05", "--in-place", "--dry-run", "--overwrite", "--json")
            #expect(preview.events.first?["event"] as? String == "wouldOverwrite")
            #expect(preview.summary?["files"] as? Int == 1 && preview.summary?["fetchedBytes"] as? Int == 3)
        }
    }

    @Test("A time without a zone is in the local time zone")
    func localTime() throws {
        try withVersionedFiles { files in
            try past(files)
            for (zone, text) in [("UTC", "two"), ("Asia/Tokyo", "one"), ("America/New_York", "two")] {
                let pull = ["pull", "--database", "a.sqlite", "--to", "dir:remote", "files/a", "--output", "out"]
                let run = try UploaderProcess(
                    pull + ["--as-of", "2026-03-10T13:00", "--overwrite"], in: files.folder, environment: ["TZ": zone]
                ).wait()
                #expect(run.status == 0, "\(run.messages)")
                #expect(files.read("out/files/a") == text, "\(zone)")
            }
        }
    }

    @Test("A version that is not kept any more fails by its path, and others are pulled")
    func notKept() throws {
        try withVersionedFiles { files in
            try past(files)
            let id = try #require(try files.old().first)
            try files.run("remove", words: id)
            let pulled = try files.run("pull", words: "--all", "--as-of", "2026-03-16", "--output", "out", exit: 3)
            #expect(pulled.messages.contains("/files/a: its version of that time is no longer kept"))
            #expect(files.read("out/files/a") == nil && files.read("out/files/b") == "late")
            try files.run("pull", words: "files/a", "--as-of", "2026-03-16", "--dry-run", "--output", "out", exit: 3)
            let all = ["--synced", "--as-of", "2026-03-16", "--output", "out"]
            let shared = try UploaderProcess(
                ["pull", "--database", "a.sqlite", "--to", "dir:remote"] + all, in: files.folder
            ).wait()
            #expect(shared.status == 64, "\(shared.messages)")
        }
    }
}

import Foundation
import Testing
import UploaderKit

@Suite("Escaping of printed text", .timeLimit(.minutes(10)))
struct PrintingTests {
    /// The characters that move a cursor, end a line or change the writing direction.
    private static let unsafe: [Unicode.Scalar] =
        ([0x00...0x1F, 0x7F...0x9F, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069].flatMap { Array($0) } + [0x61C])
        .compactMap(Unicode.Scalar.init)

    @Test("Control characters are escaped in text and JSON, and other text is unchanged")
    func escapes() throws {
        for scalar in Self.unsafe.map(String.init) {
            #expect(!Printable.text("a\(scalar)b").unicodeScalars.contains { Self.unsafe.contains($0) })
            let json = Printable.json("\"a\(scalar)b\"")
            #expect(!json.unicodeScalars.contains { Self.unsafe.contains($0) })
            #expect(try JSONDecoder().decode(String.self, from: Data(json.utf8)) == "a\(scalar)b")
        }
        let harmless = "Käse 🧀 日本 e\u{301} \\ \" ~"
        #expect(Printable.text(harmless) == harmless)
        #expect(Printable.json(harmless) == harmless)
        #expect(FilePath(bytes: [0x61, 0xC2, 0x9B, 0x62, 0xFF]).description == "a\\u{009B}b\\xFF")
    }

    @Test("Names, keys and messages from rows are escaped before they are printed")
    func rows() throws {
        try withFolder(files: 3) { folder in
            let evil = "evil\u{9B}31m\u{202E}\u{85}\u{1B}]0;x\u{7}"
            try randomData(10).write(to: folder.appendingPathComponent("files/\(evil)"))
            _ = try UploaderProcess.run("push", "--database", "a.sqlite", "--to", "dir:remote", "files", in: folder)
            let database = folder.appendingPathComponent("a.sqlite")
            let hex = Data(evil.utf8).map { String(format: "%02x", $0) }.joined()
            for sql in [
                "DROP TRIGGER lfs_file_keep_content", "UPDATE lfs_file SET key = CAST(x'\(hex)' AS TEXT)",
                """
                INSERT OR REPLACE INTO lfs_job (fileID, state, lane, byteCount, notBefore, errorCode, errorMessage)
                SELECT id, 'failed', 0, 1, 0, 'lost', CAST(x'\(hex)' AS TEXT) FROM lfs_file
                """,
            ] { try TestDatabase.execute(sql, in: database) }
            let storage = ["--database", "a.sqlite", "--to", "dir:remote"]
            for command in [
                ["status", "--database", "a.sqlite"], ["status", "--database", "a.sqlite", "--json"],
                ["list", "--database", "a.sqlite"], ["list", "--database", "a.sqlite", "--json"],
                ["verify"] + storage, ["verify", "--json"] + storage, ["resume", "-v"] + storage,
                ["pull", "--all", "--output", "out"] + storage, ["pull", "--json", "--output", "out", evil] + storage,
                ["remove", evil] + storage, ["free", "--database", "a.sqlite", evil], ["push", "--\(evil)"],
                ["push", "--database", evil, "--to", "ftp:\(evil)", "x"], ["status", "--database", evil],
            ] {
                let run = try UploaderProcess(command, in: folder).wait()
                let printed = (run.output + run.messages).unicodeScalars.filter { $0 != "\n" }
                let raw = printed.filter { Self.unsafe.contains($0) }
                #expect(raw.isEmpty, "\(command.first ?? ""): \(raw.map { $0.escaped(asASCII: true) })")
            }
        }
    }

    @Test("Only the file that escapes text prints")
    func oneWay() throws {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Sources/UploaderKit").standardizedFileURL
        let files = try FileManager.default.subpathsOfDirectory(atPath: sources.path)
            .filter { $0.hasSuffix(".swift") && $0 != "Output/Console.swift" }
        #expect(files.count > 30)
        for file in files {
            // A child process whose output goes into a pipe prints nothing.
            let text = try String(contentsOf: sources.appendingPathComponent(file), encoding: .utf8)
                .replacingOccurrences(of: "process.standardOutput = output\n", with: "")
            for way in [
                "print(", "fputs(", "puts(", "standardOutput", "standardError", "STDOUT", "STDERR", "dump(", "NSLog(",
            ] {
                #expect(!text.contains(way), "\(file) has \(way)")
            }
        }
    }

    @Test(
        "A malformed storage is a usage error, and its credentials are not printed",
        arguments: [
            "s3://AKIAKEY:S3CR3T@bucket/p", "s3://AKIAKEY:S3C/R3T@bucket",
            "s3://b/p?endpoint=https://AKIAKEY:S3CR3T@host",
            "s3://b/%zz", "s3://b/a%2", "s3://b/..", "s3://b/a/../b", "s3://b/a//b", "s3://b?region=%9",
            "s3://b?endpoint=https://h?x=1", "s3://b?endpoint=https://h%3Fx=1", "s3://b?endpoint=https://h%23f",
            "s3://b?endpoint=https://h/a%252fb", "s3://b?endpoint=https://h/../c", "s3://:@",
        ])
    func wrongStorage(storage: String) throws {
        try withFolder(files: 1) { folder in
            for command in [
                ["push", "--database", "a.sqlite", "--to", storage, "files"],
                ["push", "--database", "a", "--to", "dir:r", storage],
                ["status", "--database", "a", storage],
            ] {
                let run = try UploaderProcess(command, in: folder).wait()
                #expect(run.status == 64, "\(command): \(run.messages)")
                for part in ["S3CR3T", "S3C/R3T", "AKIAKEY"] {
                    #expect(!(run.output + run.messages).contains(part), "\(run.messages)")
                }
            }
            #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("a.sqlite").path))
        }
    }

    @Test("Extreme numbers from rows are formatted without an overflow", arguments: [Int64.max, .min, 0, -1])
    func figures(value: Int64) throws {
        var tally = Tally()
        tally.bytes = value
        tally.totalBytes = value
        tally.totalFiles = 3
        tally.partial = Dictionary(uniqueKeysWithValues: zip(try someIDs(3), [value, value, .max]))
        for rate in [Double.infinity, .nan, -.infinity, 1e300, 0] {
            _ = ProgressLine.text(tally, rate: rate, timeLeft: rate)
            _ = ProgressLine.reading(tally, rate: rate)
        }
        #expect((0...100).contains(tally.percent) || value < 0)
        #expect(value.addingSaturated(value) == (value == .max ? .max : value == .min ? .min : value * 2))
        #expect(!Format.bytes(value).isEmpty)
        var meter = RateMeter()
        for (time, bytes) in [(0.0, value), (1, -1), (2, .max), (3, .min)] { meter.add(bytes, at: time) }
        _ = meter.timeLeft(value, of: .max, at: 100)
    }
}

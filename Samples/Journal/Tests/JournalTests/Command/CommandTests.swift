import Foundation
import JournalStorage
import Testing

@Suite("The command journal", .timeLimit(.minutes(10)))
struct CommandTests {
    private func run(_ arguments: String..., in folder: URL) async throws -> ChildProcess.Result {
        try await ChildProcess.run("journal", arguments: arguments, in: folder)
    }

    @Test("A demo database is unchanged after an export and an import")
    func demo() async throws {
        try await withFolder { folder in
            let database = ["--database", "a.sqlite", "--storage", "dir:remote"]
            let filled = try await ChildProcess.run(
                "journal", arguments: ["demo", "--records", "40", "--pictures", "9"] + database, in: folder)
            #expect(filled.status == 0 && filled.output == "40 records, 9 pictures, 6 tags.\n", "\(filled)")
            let out = try await ChildProcess.run("journal", arguments: ["export", "first"] + database, in: folder)
            #expect(out.status == 0 && out.output == "40 records, 9 pictures, 6 tags.\n", "\(out)")
            let taken = try await run(
                "import", "first", "--database", "b.sqlite", "--storage", "dir:other", in: folder)
            #expect(taken.status == 0, "\(taken)")
            let again = try await run(
                "export", "second", "--database", "b.sqlite", "--storage", "dir:other", in: folder)
            #expect(again.status == 0, "\(again)")
            let (first, second) = (
                try CopyTests.files(folder.appending(path: "first")),
                try CopyTests.files(folder.appending(path: "second"))
            )
            #expect(first.count == 50 && first == second)
        }
    }

    @Test("A demo that waits ends when all pictures are on the storage")
    func populated() async throws {
        try await withFolder { folder in
            let arguments = [
                "demo", "--records", "60", "--pictures", "12", "--uploads", "50", "--wait", "--database", "a.sqlite",
                "--storage", "dir:remote",
            ]
            let filled = try await ChildProcess.run("journal", arguments: arguments, in: folder)
            #expect(filled.status == 0 && filled.output == "60 records, 12 pictures, 6 tags.\n", "\(filled)")
            let names = try FileManager.default.subpathsOfDirectory(
                atPath: folder.appending(path: "remote").path)
            #expect(names.filter { $0.split(separator: "/").last?.count == 36 }.count == 12)
        }
    }

    @Test("A demo folder gets real pictures, which depend only on the seed")
    func folder() async throws {
        try await withFolder { folder in
            for name in ["a", "b"] {
                let result = try await run(
                    "demo", "--records", "3", "--pictures", "4", "--seed", "7", "--folder", name, in: folder)
                #expect(result.status == 0, "\(result)")
            }
            let pictures = try ["a", "b"].map { name in
                try CopyTests.files(folder.appending(path: name)).filter { $0.key.hasSuffix(".png") }
            }
            #expect(pictures[0].count == 4)
            // The paths differ, because the months count back from the current one.
            #expect(Set(pictures[0].values) == Set(pictures[1].values))
            for picture in pictures[0].values {
                #expect(picture.starts(with: [0x89, 0x50, 0x4e, 0x47]) && picture.count > 100_000)
            }
            let journal = LocalFileStorageService(folder: folder.appending(path: "a"))
            #expect(try await journal.loadRunningRecords().count == 1)
            #expect(try await journal.damagedRecords() == [])
        }
    }

    @Test("A damaged record is reported on the standard error with status 3")
    func damaged() async throws {
        try await withFolder { folder in
            let source = LocalFileStorageService(folder: folder.appending(path: "a"))
            let (good, bad) = (try record("2026-03-01T10:00:00Z"), try record("2026-03-01T11:00:00Z"))
            for record in [good, bad] { try await source.saveRecord(record) }
            try Data("{".utf8).write(to: source.folder.appending(path: "records/2026/03/\(bad.name).json"))
            let result = try await run("import", "a", "--folder", "b", in: folder)
            #expect(result.status == 3 && result.messages.contains(bad.name))
            #expect(result.output == "1 records, 0 pictures, 0 tags.\n")
        }
    }

    @Test(
        "A usage error is reported with status 64",
        arguments: [
            ["demo"], ["demo", "--folder", "a", "--database", "b"], ["demo", "--database", "b"],
            ["demo", "--folder", "a", "--wait"], ["demo", "--folder", "a", "--uploads", "0"],
            ["demo", "--folder", "a", "--records", "-1"], ["demo", "--folder", "a", "--records", "0"],
            ["demo", "--database", "b", "--storage", "remote"], ["demo", "--database", "b", "--storage", "dir:"],
            ["demo", "--database", "b", "--storage", "s3://"],
            ["demo", "--database", "b", "--storage", "s3://key:S3CR3T@bucket"],
            ["demo", "--database", "b", "--storage", "s3://bucket?colour=red"],
            ["demo", "--database", "b", "--storage", "s3://bucket/../other"],
            ["import", "missing", "--folder", "a"], ["export", "a", "--database", "b", "--storage", "dir:c"],
            ["serve"], ["serve", "--storage", "dir:a"],
            ["serve", "--storage", "dir:a", "--database", "b", "--folder", "c"],
        ])
    func wrong(_ arguments: [String]) async throws {
        try await withFolder { folder in
            let result = try await ChildProcess.run("journal", arguments: arguments, in: folder)
            #expect(result.status == 64 && result.messages.contains("Error: "), "\(result)")
            #expect(!result.messages.contains("S3CR3T"))
            let made = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix(".") }
            #expect(made == [], "It has made \(made).")
        }
    }
}

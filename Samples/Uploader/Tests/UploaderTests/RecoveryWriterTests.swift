import Foundation
import Testing

@Suite("Several machines with one database", .timeLimit(.minutes(10)))
struct RecoveryWriterTests {
    private func push(_ machine: String, name: String, in folder: URL) throws -> UploaderProcess.Result {
        let file = folder.appendingPathComponent("files-\(machine)/\(name)")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(name.utf8).write(to: file)
        let run = try UploaderProcess.run(
            "push", "--database", "\(machine).sqlite", "--to", "dir:remote", "--save-database", "files-\(machine)",
            in: folder)
        #expect(run.status == 0, "\(run.messages)")
        return run
    }

    private func clone(in folder: URL) throws {
        #expect(try RestoreTests.shell("cp a.sqlite b.sqlite && cp -r a.sqlite.lfs b.sqlite.lfs", in: folder))
    }

    private func recover(_ words: String..., in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess(["recover", "--unauthenticated", "--from", "dir:remote"] + words, in: folder).wait()
    }

    private func titles(_ database: String, in folder: URL) throws -> Set<String> {
        let entries = try TestDatabase.entries(in: folder.appendingPathComponent(database))
        return Set(entries.map { URL(fileURLWithPath: $0.path).lastPathComponent })
    }

    private static let warning = "another machine saves copies of this database"

    @Test("The database copies of a cloned machine are kept and reported")
    func clones() throws {
        try withFolder { folder in
            _ = try push("a", name: "a0", in: folder)
            try clone(in: folder)
            for number in 1...4 { _ = try push("a", name: "a\(number)", in: folder) }
            let cloned = try push("b", name: "b1", in: folder)
            #expect(cloned.messages.contains(Self.warning), "\(cloned.messages)")
            let next = try push("a", name: "a5", in: folder)
            #expect(next.messages.contains(Self.warning), "\(next.messages)")
            for number in 6...8 {
                let quiet = try push("a", name: "a\(number)", in: folder)
                #expect(!quiet.messages.contains(Self.warning), "\(quiet.messages)")
            }

            let listed = try recover("--json", in: folder)
            let writers = listed.events.compactMap { $0["writer"] as? String }
            #expect(writers.count == 4 && Set(writers).count == 2, "\(listed.output)")
            let newest = try recover("--database", "r.sqlite", in: folder)
            #expect(newest.status == 0 && newest.messages.contains("--writer"), "\(newest.messages)")
            #expect(try titles("r.sqlite", in: folder) == Set((0...8).map { "a\($0)" }))
            let other = try #require(writers.first { writer in writers.filter { $0 == writer }.count == 1 })
            let older = try recover("--database", "s.sqlite", "--writer", String(other.prefix(6)), in: folder)
            #expect(older.status == 0, "\(older.messages)")
            #expect(try titles("s.sqlite", in: folder) == ["a0", "b1"])
            let none = try recover("--database", "t.sqlite", "--writer", "ffffffffffffffff", in: folder)
            #expect(none.status == 1 && none.messages.contains("no copy of a database"), "\(none.messages)")
        }
    }

    @Test("A recovered database continues the copies of the lost one without a warning")
    func recovered() throws {
        try withFolder { folder in
            _ = try push("a", name: "a0", in: folder)
            _ = try push("a", name: "a1", in: folder)
            #expect(try recover("--database", "b.sqlite", in: folder).status == 0)
            let pushed = try push("b", name: "b1", in: folder)
            #expect(!pushed.messages.contains(Self.warning), "\(pushed.messages)")
            let listed = try recover("--json", in: folder)
            #expect(Set(listed.events.compactMap { $0["writer"] as? String }).count == 1, "\(listed.output)")
        }
    }

    @Test("A failed save of the database causes no warning in the next run")
    func failed() throws {
        try withFolder { folder in
            _ = try push("a", name: "a0", in: folder)
            let id = try #require(try recover("--json", in: folder).events.first?["id"] as? String)
            let blocked = """
                mv remote/\(id)/lfs-recovery kept && echo > remote/\(id)/lfs-recovery && echo 1 > files-a/a1
                """
            #expect(try RestoreTests.shell(blocked, in: folder))
            let refused = try UploaderProcess.run(
                "push", "--database", "a.sqlite", "--to", "dir:remote", "files-a", in: folder)
            #expect(refused.status == 3, "\(refused.messages)")
            #expect(
                try RestoreTests.shell(
                    "rm remote/\(id)/lfs-recovery && mv kept remote/\(id)/lfs-recovery", in: folder))
            let saved = try push("a", name: "a2", in: folder)
            #expect(!saved.messages.contains(Self.warning), "\(saved.messages)")
        }
    }

    @Test("Copies of runs in quick succession are not named ahead of the clock")
    func quickRuns() throws {
        try withFolder { folder in
            for number in 0..<6 { _ = try push("a", name: "a\(number)", in: folder) }
            let newest = try #require(try recover("--json", in: folder).events.first?["saved"] as? String)
            let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            #expect(try Date(newest, strategy: format) <= Date())
        }
    }

    @Test("Copies are stored below the database's namespace, and older ones are found")
    func places() throws {
        try withFolder { folder in
            _ = try push("a", name: "a0", in: folder)
            let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path + "/remote")
            let copy = try #require(names.first { $0.hasSuffix(".sqlite.gz") })
            let key = /[0-9a-f]{32}\/lfs-recovery\/[0-9a-f]{16}\/[0-9]{8}t[0-9]{6}\.[0-9]{3}z\.sqlite\.gz/
            #expect(copy.wholeMatch(of: key) != nil, "\(copy)")
            let id = String(copy.prefix(32))
            let verify = try UploaderProcess.run("verify", "--database", "a.sqlite", in: folder)
            #expect(verify.status == 0, "\(verify)")

            let move = """
                mkdir -p remote/lfs-recovery/\(id)
                mv remote/\(copy) remote/lfs-recovery/\(id)/20250101t000000z.sqlite.gz
                """
            #expect(try RestoreTests.shell(move, in: folder))
            let old = try recover("--database", "r.sqlite", in: folder)
            #expect(old.status == 0 && old.output.contains("as of 2025-01-01T00:00:00Z"), "\(old)")
            _ = try push("a", name: "a1", in: folder)
            let both = try recover("--id", String(id.prefix(4)), "--json", in: folder)
            #expect(both.events.count == 2, "\(both.output)")
            #expect(try recover("--id", id, "--json", in: folder).events.count == 2)
            let newest = try recover("--database", "s.sqlite", in: folder)
            #expect(newest.status == 0, "\(newest)")
            #expect(try titles("s.sqlite", in: folder) == ["a0", "a1"])
        }
    }

    @Test("Foreign triggers and views of a copy are not in the recovered database")
    func foreignTriggers() throws {
        try withFolder { folder in
            _ = try push("a", name: "a0", in: folder)
            let schema = try TestDatabase.schema(of: folder.appendingPathComponent("a.sqlite"))
            let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path + "/remote")
            let copy = try #require(names.first { $0.hasSuffix(".sqlite.gz") })
            #expect(try RestoreTests.shell("gunzip -c 'remote/\(copy)' > copy.sqlite", in: folder))
            let file = folder.appendingPathComponent("copy.sqlite")
            try TestDatabase.execute(
                """
                CREATE VIEW stray AS SELECT 1;
                CREATE TRIGGER stray_insert AFTER INSERT ON uploader_document BEGIN DELETE FROM uploader_entry; END;
                DROP TRIGGER lfs_file_keep_remote;
                CREATE TRIGGER lfs_file_keep_remote AFTER UPDATE ON lfs_file BEGIN DELETE FROM uploader_entry; END;
                """, in: file)
            #expect(try RestoreTests.shell("gzip -c copy.sqlite > 'remote/\(copy)'", in: folder))
            let run = try recover("--database", "r.sqlite", in: folder)
            #expect(run.status == 0, "\(run.messages)")
            #expect(try TestDatabase.schema(of: folder.appendingPathComponent("r.sqlite")) == schema)
        }
    }
}

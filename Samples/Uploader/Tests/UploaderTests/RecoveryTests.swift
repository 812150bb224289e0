import Foundation
import Testing

@Suite("Recovery of a lost database", .timeLimit(.minutes(10)))
struct RecoveryTests {
    @Test("Copies of the database in the same second do not report a wrong clock")
    func sameSecond() throws {
        try withFolder(files: 1) { folder in
            for number in 1...3 {
                try Data("\(number)".utf8).write(to: folder.appendingPathComponent("files/new"))
                let push = try UploaderProcess.run(
                    "push", "--database", "a.sqlite", "--to", "dir:remote", "--save-database", "files", in: folder)
                #expect(push.status == 0, "\(push.messages)")
            }
            let recover = try UploaderProcess.run(
                "recover", "--unauthenticated", "--from", "dir:remote", "--database", "b.sqlite", in: folder)
            #expect(recover.status == 0 && !recover.messages.contains("clock"), "\(recover)")
        }
    }

    private static let storage = ["--database", "a.sqlite", "--to", "dir:remote"]

    private func push(_ arguments: [String], in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess(["push"] + Self.storage + arguments, in: folder).wait()
    }

    private func recover(_ arguments: [String], in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess(["recover", "--unauthenticated", "--from", "dir:remote"] + arguments, in: folder).wait()
    }

    /// Returns the keys of the copies, `<database id>/lfs-recovery/<writer>/<time>.sqlite.gz`.
    private func copies(_ folder: URL) throws -> [String] {
        let root = folder.path + "/remote"
        guard FileManager.default.fileExists(atPath: root) else { return [] }
        return try FileManager.default.subpathsOfDirectory(atPath: root).filter { $0.hasSuffix(".gz") }.sorted()
    }

    private func file(_ copy: String, in folder: URL) -> URL { folder.appendingPathComponent("remote/" + copy) }

    @Test("The database and all files are recovered from the storage on a new machine")
    func wholeWay() throws {
        try withFolder(files: 5) { folder in
            let first = try push(["files"], in: folder)
            #expect(first.status == 0 && first.output.contains("is on this machine only"))
            #expect(try copies(folder).isEmpty)
            let second = try push(["--save-database", "files"], in: folder)
            #expect(second.status == 0 && !second.output.contains("this machine only"), "\(second.messages)")
            #expect(try copies(folder).count == 1)
            // The setting is remembered. No copy is uploaded while the database is unchanged.
            #expect(try push(["files"], in: folder).status == 0)
            #expect(try copies(folder).count == 1)
            let status = try UploaderProcess.run("status", "--database", "a.sqlite", in: folder)
            #expect(status.output.contains("the database was saved there"))
            let verify = try UploaderProcess(
                ["verify"] + Self.storage + ["--repair", "--remove-unknown", "--orphan-age", "0"], in: folder
            ).wait()
            #expect(verify.status == 0, "\(verify.output)")
            #expect(try copies(folder).count == 1)

            // gunzip can read the copy.
            let copy = file(try #require(copies(folder).first), in: folder).path
            #expect(try system("sh", "-c", "gunzip -c '\(copy)' > '\(folder.path)/copy.sqlite'"))
            #expect(
                try TestDatabase.count("uploader_document", in: folder.appendingPathComponent("copy.sqlite")) == 5)

            for name in ["a.sqlite", "a.sqlite.lfs"] {
                try FileManager.default.removeItem(at: folder.appendingPathComponent(name))
            }
            let listed = try recover([], in: folder)
            #expect(listed.status == 0 && listed.output.split(separator: "\n").count == 1)
            let recovered = try recover(["--database", "b.sqlite"], in: folder)
            #expect(recovered.status == 0, "\(recovered.messages)")
            #expect(recovered.output.contains("b.sqlite: 5 files, as of 20"))
            // The storage is at another location now.
            try FileManager.default.moveItem(
                at: folder.appendingPathComponent("remote"), to: folder.appendingPathComponent("moved"))
            let pull = ["pull", "--database", "b.sqlite", "--all", "--output", "out", "--to"]
            #expect(try UploaderProcess(pull + ["dir:remote"], in: folder).wait().status == 1)
            let pulled = try UploaderProcess(pull + ["dir:moved", "--change-storage"], in: folder).wait()
            #expect(pulled.status == 0, "\(pulled.messages)")
            #expect(try system("diff", "-r", folder.path + "/files", folder.path + "/out/files"))
            let mode = try FileManager.default.attributesOfItem(atPath: folder.path + "/b.sqlite")[.posixPermissions]
            #expect(mode as? Int == 0o600)
        }
    }

    @Test("The last three copies of each database are kept, until saving is switched off")
    func kept() throws {
        try withFolder(files: 1) { folder in
            #expect(try push(["--save-database", "files"], in: folder).status == 0)
            let first = try #require(copies(folder).first)
            let (id, writer) = (first.prefix(32), file(first, in: folder).deletingLastPathComponent())
            for second in 10...13 {
                let old = writer.appendingPathComponent("20250101t0000\(second).000z.sqlite.gz")
                try Data("x".utf8).write(to: old)
            }
            // Files of other programs stay.
            try Data("x".utf8).write(to: writer.appendingPathComponent("notes.gz"))
            try randomData(10).write(to: folder.appendingPathComponent("files/1.bin"))
            #expect(try push(["files"], in: folder).status == 0)
            let left = try copies(folder).map { String($0.split(separator: "/")[3]) }
            // The last three copies: those of the two runs, and one of the old ones.
            #expect(left.count == 4 && left.contains("notes.gz") && left.contains("20250101t000013.000z.sqlite.gz"))
            try randomData(10).write(to: folder.appendingPathComponent("files/2.bin"))
            #expect(try push(["--no-save-database", "files"], in: folder).status == 0)
            #expect(try copies(folder).map { String($0.split(separator: "/")[3]) } == left)

            let other = try UploaderProcess(
                ["push", "--database", "c.sqlite", "--to", "dir:remote", "--save-database", "files"], in: folder
            ).wait()
            #expect(other.status == 0)
            let ambiguous = try recover(["--database", "b.sqlite"], in: folder)
            #expect(ambiguous.status == 1 && ambiguous.messages.contains("name one with --id"))
            #expect(!FileManager.default.fileExists(atPath: folder.path + "/b.sqlite"))
            #expect(try recover(["--database", "b.sqlite", "--id", String(id.prefix(8))], in: folder).status == 0)
            #expect(try TestDatabase.count("uploader_document", in: folder.appendingPathComponent("b.sqlite")) == 2)
        }
    }

    @Test("A damaged, truncated or foreign database copy is refused without leftovers")
    func damaged() throws {
        try withFolder(files: 3) { folder in
            #expect(try push(["--save-database", "files"], in: folder).status == 0)
            let copy = file(try #require(copies(folder).first), in: folder)
            let whole = try Data(contentsOf: copy)
            var flipped = whole
            // Changes a whole byte. A single bit may be unused padding between two blocks.
            flipped[whole.count / 2] ^= 0xFF
            #expect(try system("sh", "-c", "echo 'x' | gzip > '\(folder.path)/text.gz'"))
            let text = try Data(contentsOf: folder.appendingPathComponent("text.gz"))
            let cuts = [1, 4, 8, 9, 200, whole.count - 20].map { whole.prefix(whole.count - $0) }
            for bytes in cuts + [flipped, Data("no gzip".utf8), Data(), text] {
                try bytes.write(to: copy)
                let run = try recover(["--database", "b.sqlite"], in: folder)
                #expect(run.status == 1, "\(bytes.count) bytes: \(run.output)")
                #expect(!run.messages.isEmpty)
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
                #expect(!names.contains { $0.hasPrefix("b.sqlite") }, "\(names)")
            }
            try whole.write(to: copy)
            try Data("mine".utf8).write(to: folder.appendingPathComponent("b.sqlite"))
            let run = try recover(["--database", "b.sqlite"], in: folder)
            #expect(run.status == 1 && run.messages.contains("already exists and is not overwritten"))
            #expect(try Data(contentsOf: folder.appendingPathComponent("b.sqlite")) == Data("mine".utf8))
            let none = try UploaderProcess.run("recover", "--unauthenticated", "--from", "dir:files", in: folder)
            #expect(none.status == 1 && none.messages.contains("no copy of a database"))
        }
    }

    @Test("A planted copy with the last possible time does not hide the copies after it")
    func lastTime() throws {
        try withFolder(files: 3) { folder in
            #expect(try push(["--save-database", "files"], in: folder).status == 0)
            let first = try #require(copies(folder).first)
            let planted = first.replacing(/[0-9]{8}t[0-9]{6}.[0-9]{3}z/, with: "99991231t235959.999z")
            try FileManager.default.copyItem(at: file(first, in: folder), to: file(planted, in: folder))
            let remove = ["remove"] + Self.storage + ["files/1.bin"]
            #expect(try UploaderProcess(remove, in: folder).wait().status == 0)
            let newest = try recover(["--database", "b.sqlite"], in: folder)
            #expect(newest.status == 0 && newest.output.contains("2 files, as of 20"), "\(newest)")
        }
    }

    @Test("Recovery uses the copy that was written last, or an older one on request")
    func order() throws {
        try withFolder(files: 3) { folder in
            #expect(try push(["--save-database", "files"], in: folder).status == 0)
            let first = try #require(copies(folder).first)
            // The copy of a machine whose clock was years ahead.
            let ahead = first.replacing(/[0-9]{8}t[0-9]{6}.[0-9]{3}z/, with: "20980101t000000.000z")
            try FileManager.default.moveItem(at: file(first, in: folder), to: file(ahead, in: folder))
            let database = folder.appendingPathComponent("a.sqlite")
            try TestDatabase.execute("UPDATE uploader_storage SET savedCopy = '20980101t000000.000z'", in: database)
            let remove = ["remove"] + Self.storage + ["files/1.bin"]
            #expect(try UploaderProcess(remove, in: folder).wait().status == 0)
            #expect(
                try copies(folder).map { String($0.suffix(30).prefix(20)) } == [
                    "20980101t000000.000z", "20980101t000000.001z",
                ])
            let newest = try recover(["--database", "b.sqlite"], in: folder)
            #expect(newest.status == 0 && newest.output.contains("2 files, as of 2098"), "\(newest.messages)")
            #expect(newest.messages.contains("a clock was wrong"))
            let older = try recover(["--database", "c.sqlite", "--saved", "2098-01-01T00:00:00.000Z"], in: folder)
            #expect(older.status == 0 && older.output.contains("3 files"), "\(older.messages)")
            let none = try recover(["--database", "d.sqlite", "--saved", "2097-01-01T00:00:00Z"], in: folder)
            #expect(none.status == 1 && none.messages.contains("no copy of a database of 2097"))
            // A copy of another database under this database's id.
            let foreign = file(String(repeating: "0", count: 32) + ahead.dropFirst(32), in: folder)
            try FileManager.default.createDirectory(
                at: foreign.deletingLastPathComponent(), withIntermediateDirectories: true)
            try FileManager.default.copyItem(at: file(ahead, in: folder), to: foreign)
            let moved = try recover(["--database", "e.sqlite", "--id", "0000"], in: folder)
            #expect(moved.status == 1 && moved.messages.contains("belongs to another database"))
        }
    }

    @Test("A copy that unpacks to more than its header says is refused early")
    func bomb() throws {
        try withFolder(files: 1) { folder in
            #expect(try push(["--save-database", "files"], in: folder).status == 0)
            let copy = file(try #require(copies(folder).first), in: folder).path
            let bomb = folder.path + "/bomb"
            let pack = "(gunzip -c '\(copy)'; head -c 300000000 /dev/zero) | gzip -1 > '\(bomb)'"
            #expect(try system("sh", "-c", "\(pack) && mv '\(bomb)' '\(copy)'"))
            let run = try recover(["--database", "b.sqlite"], in: folder)
            #expect(run.status == 1 && run.messages.contains("longer than the database says"), "\(run.messages)")
        }
    }

    @Test("A push into an empty folder in place of the storage is refused")
    func emptyPlace() throws {
        try withFolder(files: 3) { folder in
            #expect(try push(["files"], in: folder).status == 0)
            let files = FileManager.default
            try files.moveItem(atPath: folder.path + "/remote", toPath: folder.path + "/away")
            try files.createDirectory(atPath: folder.path + "/remote", withIntermediateDirectories: false)
            try randomData(10).write(to: folder.appendingPathComponent("files/new.bin"))
            let refused = try push(["files"], in: folder)
            #expect(refused.status == 1 && refused.messages.contains("Is its disk mounted"), "\(refused.messages)")
            #expect(try files.contentsOfDirectory(atPath: folder.path + "/remote").isEmpty)
            try files.removeItem(atPath: folder.path + "/remote")
            try files.moveItem(atPath: folder.path + "/away", toPath: folder.path + "/remote")
            #expect(try push(["files"], in: folder).output.contains("1 attached, 1 uploaded"))

            try files.moveItem(atPath: folder.path + "/a.sqlite", toPath: folder.path + "/lost.sqlite")
            let foreign = try push(["files"], in: folder)
            #expect(foreign.status == 1 && foreign.messages.contains("belongs to another database"))
            #expect(!foreign.messages.contains("LFSOptions"))
            #expect(!files.fileExists(atPath: folder.path + "/a.sqlite"))
        }
    }

    @Test("Equal files in one folder are all restored")
    func equalFiles() throws {
        try withFolder { folder in
            for number in 0..<8 {
                let bytes = randomData(2_000)
                for copy in ["a", "b", "c"] {
                    try bytes.write(to: folder.appendingPathComponent("files/\(number)\(copy)"))
                }
            }
            #expect(try push(["files"], in: folder).status == 0)
            let pulled = try UploaderProcess(
                ["pull"] + Self.storage + ["--all", "--output", "out"], in: folder
            ).wait()
            #expect(pulled.status == 0 && pulled.output.contains("24 pulled, 0 failed"), "\(pulled.messages)")
            #expect(try system("diff", "-r", folder.path + "/files", folder.path + "/out/files"))
        }
    }

    @Test("Equal files of two folders with the same name are all restored once")
    func equalFolders() throws {
        try withFolder(files: 0) { folder in
            for number in 0..<3 {
                let bytes = randomData(2_000)
                for parent in ["one", "two"] {
                    let photos = folder.appendingPathComponent("\(parent)/photos")
                    try FileManager.default.createDirectory(at: photos, withIntermediateDirectories: true)
                    try bytes.write(to: photos.appendingPathComponent("\(number).jpg"))
                }
            }
            try randomData(2_000).write(to: folder.appendingPathComponent("two/photos/0.jpg"))
            #expect(try push(["one/photos", "two/photos"], in: folder).status == 0)
            for (pulled, unchanged) in [(6, 0), (0, 6)] {
                let result = try UploaderProcess(
                    ["pull"] + Self.storage + ["--all", "--output", "out"], in: folder
                ).wait()
                #expect(result.status == 0 && result.output.contains("\(pulled) pulled, 0 failed"), "\(result)")
                #expect(result.output.contains("\(unchanged) unchanged"), "\(result)")
                let photos = folder.path + "/out/photos"
                let names = try FileManager.default.contentsOfDirectory(atPath: photos)
                #expect(names.count == 6, "\(names)")
                for (number, count) in [(0, 1), (1, 2), (2, 2)] {
                    let original = folder.path + "/one/photos/\(number).jpg"
                    let equal = names.filter {
                        FileManager.default.contentsEqual(atPath: photos + "/" + $0, andPath: original)
                    }
                    #expect(equal.count == count && equal.allSatisfy { $0.hasSuffix("-\(number).jpg") }, "\(names)")
                }
            }
        }
    }

    @Test("Folders that are merged get only the permissions that both have", arguments: [0, 1])
    func narrower(_ closed: Int) throws {
        try withFolder(files: 0) { folder in
            for (index, parent) in ["one", "two"].enumerated() {
                let photos = folder.appendingPathComponent("\(parent)/photos")
                try FileManager.default.createDirectory(at: photos, withIntermediateDirectories: true)
                try randomData(10).write(to: photos.appendingPathComponent(parent))
                #expect(try system("chmod", index == closed ? "0700" : "0755", photos.path))
            }
            #expect(try push(["one/photos", "two/photos"], in: folder).status == 0)
            let pulled = try UploaderProcess(
                ["pull"] + Self.storage + ["--all", "--output", "out"], in: folder
            ).wait()
            #expect(pulled.status == 0, "\(pulled.messages)")
            var status = stat()
            #expect(stat(folder.path + "/out/photos", &status) == 0 && status.st_mode & 0o7777 == 0o700)
        }
    }

    @Test("A pull restores modification times")
    func times() throws {
        try withFolder(files: 2) { folder in
            #expect(try system("touch", "-d", "2019-03-04 05:06:07.123456789", folder.path + "/files/0.bin"))
            #expect(try push(["files"], in: folder).status == 0)
            let pulled = try UploaderProcess(
                ["pull"] + Self.storage + ["--all", "--output", "out"], in: folder
            ).wait()
            #expect(pulled.status == 0, "\(pulled.messages)")
            for name in ["0.bin", "1.bin"] {
                var (before, after) = (stat(), stat())
                #expect(stat(folder.path + "/files/" + name, &before) == 0)
                #expect(stat(folder.path + "/out/files/" + name, &after) == 0)
                #expect(
                    before.st_mtim.tv_sec == after.st_mtim.tv_sec && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec)
            }
        }
    }
}

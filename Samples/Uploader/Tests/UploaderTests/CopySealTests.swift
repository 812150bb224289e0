import Foundation
import Testing

@Suite("Sealed copies of the database", .timeLimit(.minutes(10)))
struct CopySealTests {
    private func uploader(_ words: [String], passphrase: String?, in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess(words, in: folder, environment: ["LFS_RECOVERY_PASSPHRASE": passphrase ?? ""]).wait()
    }

    private func recover(
        _ words: String..., passphrase: String?, in folder: URL
    ) throws -> UploaderProcess.Result {
        try uploader(["recover", "--from", "dir:remote"] + words, passphrase: passphrase, in: folder)
    }

    /// Pushes with a copy of the database, and returns the path of the copy.
    private func push(_ passphrase: String?, in folder: URL) throws -> String {
        let push = try uploader(
            ["push", "--database", "a.sqlite", "--to", "dir:remote", "--save-database", "files"],
            passphrase: passphrase,
            in: folder)
        #expect(push.status == 0, "\(push)")
        #expect(push.messages.contains("LFS_RECOVERY_PASSPHRASE") == (passphrase == nil), "\(push)")
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path + "/remote")
        return folder.path + "/remote/" + (try #require(names.first { $0.hasSuffix(".gz") }))
    }

    @Test("A database copy that was saved with a passphrase needs it for recovery")
    func passphrase() throws {
        try withFolder(files: 1) { folder in
            let copy = try push("correct horse", in: folder)
            let none = try recover("--database", "b.sqlite", passphrase: nil, in: folder)
            #expect(none.status == 1 && none.messages.contains("set LFS_RECOVERY_PASSPHRASE"), "\(none)")
            let other = try recover("--database", "b.sqlite", passphrase: "battery", in: folder)
            #expect(other.status == 1 && other.messages.contains("does not match"), "\(other)")
            #expect(!FileManager.default.fileExists(atPath: folder.path + "/b.sqlite"))
            let same = try recover("--database", "b.sqlite", passphrase: "correct horse", in: folder)
            #expect(same.status == 0, "\(same)")
            #expect(try TestDatabase.count("uploader_document", in: folder.appendingPathComponent("b.sqlite")) == 1)
            // gzip ignores the authentication code at the end.
            #expect(try system("sh", "-c", "gunzip -c '\(copy)' | cmp - /dev/null; gunzip -t '\(copy)'"))
        }
    }

    @Test("A forged or renamed database copy is refused")
    func changed() throws {
        try withFolder(files: 1) { folder in
            let copy = try push("correct horse", in: folder)
            let whole = try Data(contentsOf: URL(fileURLWithPath: copy))
            let body = whole.dropLast(160)
            try body.write(to: folder.appendingPathComponent("body.gz"))
            #expect(try system("gunzip", folder.path + "/body.gz"))
            let database = folder.appendingPathComponent("body")
            try TestDatabase.execute("UPDATE uploader_document SET path = '/home/ada/.profile'", in: database)
            #expect(try system("gzip", database.path))
            let forged = try Data(contentsOf: folder.appendingPathComponent("body.gz"))
            let copies = [(forged + whole.suffix(160), "does not match"), (forged, "has no authentication code")]
            for (bytes, words) in copies {
                try bytes.write(to: URL(fileURLWithPath: copy))
                let recover = try recover("--database", "b.sqlite", passphrase: "correct horse", in: folder)
                #expect(recover.status == 1 && recover.messages.contains(words), "\(recover)")
            }
            let moved = URL(fileURLWithPath: copy).deletingLastPathComponent()
                .appendingPathComponent("20300101t000000.000z.sqlite.gz")
            try whole.write(to: moved)
            let newest = try recover("--database", "b.sqlite", passphrase: "correct horse", in: folder)
            #expect(newest.status == 1 && newest.messages.contains("does not match"), "\(newest)")
            #expect(!FileManager.default.fileExists(atPath: folder.path + "/b.sqlite"))
        }
    }

    @Test("A database copy without an authentication code needs --unauthenticated")
    func withoutCode() throws {
        try withFolder(files: 1) { folder in
            _ = try push(nil, in: folder)
            for passphrase in [nil, "correct horse"] {
                let refused = try recover("--database", "b.sqlite", passphrase: passphrase, in: folder)
                #expect(refused.status == 1 && refused.messages.contains("has no authentication code"), "\(refused)")
            }
            let taken = try recover("--unauthenticated", "--database", "b.sqlite", passphrase: nil, in: folder)
            #expect(taken.status == 0, "\(taken)")
        }
    }

    @Test("Recovery with --unauthenticated accepts a copy whose passphrase is lost")
    func lostPassphrase() throws {
        try withFolder(files: 1) { folder in
            _ = try push("correct horse", in: folder)
            let taken = try recover("--unauthenticated", "--database", "b.sqlite", passphrase: nil, in: folder)
            #expect(taken.status == 0, "\(taken)")
        }
    }

    @Test("A push without the passphrase of earlier database copies saves none and fails")
    func missingPassphrase() throws {
        try withFolder(files: 1) { folder in
            _ = try push("correct horse", in: folder)
            try Data("new".utf8).write(to: folder.appendingPathComponent("files/new"))
            let database = folder.appendingPathComponent("a.sqlite")
            let refused = try uploader(
                ["push", "--database", "a.sqlite", "files"], passphrase: nil, in: folder)
            #expect(refused.status == 3, "\(refused)")
            #expect(refused.messages.contains("the database was not saved"), "\(refused)")
            #expect(refused.messages.contains("Set LFS_RECOVERY_PASSPHRASE"), "\(refused)")
            #expect(refused.output.contains("1 uploaded, 0 failed, "), "\(refused)")
            #expect(refused.output.hasSuffix(" s; the database was not saved\n"), "\(refused)")
            // The files are uploaded nevertheless, and the authenticated copy remains the newest one.
            #expect(try TestDatabase.count("lfs_file WHERE status = 'remote'", in: database) == 2)
            let before = try recover("--database", "b.sqlite", passphrase: "correct horse", in: folder)
            #expect(before.status == 0 && before.output.contains("1 file,"), "\(before)")
            let saved = try uploader(["resume", "--database", "a.sqlite"], passphrase: "correct horse", in: folder)
            #expect(saved.status == 0, "\(saved)")
            let after = try recover("--database", "c.sqlite", passphrase: "correct horse", in: folder)
            #expect(after.status == 0 && after.output.contains("2 files,"), "\(after)")
        }
    }

    @Test("A recovered database remembers that its copies need the passphrase")
    func recoveredMemory() throws {
        try withFolder(files: 1) { folder in
            _ = try push("correct horse", in: folder)
            #expect(try recover("--database", "b.sqlite", passphrase: "correct horse", in: folder).status == 0)
            try Data("new".utf8).write(to: folder.appendingPathComponent("files/new"))
            let refused = try uploader(["push", "--database", "b.sqlite", "files"], passphrase: nil, in: folder)
            #expect(refused.status == 3 && refused.messages.contains("Set LFS_RECOVERY_PASSPHRASE"), "\(refused)")
        }
    }

    @Test("A push with --no-save-database allows copies without a code again")
    func forgottenMemory() throws {
        try withFolder(files: 1) { folder in
            _ = try push("correct horse", in: folder)
            try Data("new".utf8).write(to: folder.appendingPathComponent("files/new"))
            for choice in ["--no-save-database", "--save-database"] {
                let push = try uploader(
                    ["push", "--database", "a.sqlite", choice, "files"], passphrase: nil, in: folder)
                #expect(push.status == 0, "\(push)")
            }
            let taken = try recover("--unauthenticated", "--database", "b.sqlite", passphrase: nil, in: folder)
            #expect(taken.status == 0 && taken.output.contains("2 files,"), "\(taken)")
        }
    }

    @Test("A passphrase that is set later authenticates a copy of the same files")
    func laterPassphrase() throws {
        try withFolder(files: 1) { folder in
            _ = try push(nil, in: folder)
            let push = try uploader(
                ["push", "--database", "a.sqlite", "files"], passphrase: "correct horse", in: folder)
            #expect(push.status == 0, "\(push)")
            let recover = try recover("--database", "b.sqlite", passphrase: "correct horse", in: folder)
            #expect(recover.status == 0, "\(recover)")
        }
    }
}

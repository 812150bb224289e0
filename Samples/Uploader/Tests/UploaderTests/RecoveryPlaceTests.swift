import Foundation
import Testing

@Suite("The folder for database copies", .timeLimit(.minutes(10)))
struct RecoveryPlaceTests {
    private static let push = ["push", "--database", "a.sqlite", "--to", "dir:remote", "--save-database", "files"]

    private func push(temporary: String, in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess(Self.push, in: folder, environment: ["TMPDIR": temporary]).wait()
    }

    @Test("Saving the database removes no file of the shared temporary folder")
    func sharedFolder() throws {
        try withFolder(files: 1) { folder in
            let script = """
                mkdir -m 1777 shared && mkdir shared/uploader-save-other && echo theirs > shared/uploader-save-other/x
                touch -d '3 days ago' shared/uploader-save-other
                """
            #expect(try RestoreTests.shell(script, in: folder))
            let saved = try push(temporary: folder.path + "/shared", in: folder)
            #expect(saved.status == 0, "\(saved.messages)")
            #expect(FileManager.default.fileExists(atPath: folder.path + "/shared/uploader-save-other/x"))
        }
    }

    @Test("Saving the database needs no temporary folder")
    func noTemporaryFolder() throws {
        try withFolder(files: 1) { folder in
            let saved = try push(temporary: "/nonexistent", in: folder)
            #expect(saved.status == 0, "\(saved.messages)")
            let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path + "/remote")
            #expect(names.filter { $0.hasSuffix(".sqlite.gz") }.count == 1)
        }
    }

    @Test("A database copy that a killed run has left is removed after a day")
    func leftover() throws {
        try withFolder(files: 1) { folder in
            #expect(try push(temporary: "/tmp", in: folder).status == 0)
            let script = """
                cd a.sqlite.lfs/saving && test $(stat -c %a .) = 700 && test -z "$(ls -A)"
                echo old > old.sqlite; touch -d '3 days ago' old.sqlite; echo new > new.sqlite
                ln -s ../../files/0.bin link; touch -h -d '3 days ago' link; echo 1 > ../../files/1.bin
                """
            #expect(try RestoreTests.shell(script, in: folder))
            let saved = try push(temporary: "/tmp", in: folder)
            #expect(saved.status == 0, "\(saved.messages)")
            let left = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/a.sqlite.lfs/saving")
            #expect(left == ["new.sqlite"])
            #expect(FileManager.default.fileExists(atPath: folder.path + "/files/0.bin"))
        }
    }

    @Test("A symbolic link in place of the folder for copies is not followed")
    func linkedFolder() throws {
        try withFolder(files: 1) { folder in
            #expect(try push(temporary: "/tmp", in: folder).status == 0)
            let script = """
                rm -rf a.sqlite.lfs/saving && mkdir elsewhere && echo x > elsewhere/x
                touch -d '3 days ago' elsewhere/x
                ln -s ../elsewhere a.sqlite.lfs/saving && echo 1 > files/1.bin
                """
            #expect(try RestoreTests.shell(script, in: folder))
            let saved = try push(temporary: "/tmp", in: folder)
            #expect(saved.status == 3 && saved.messages.contains("the database was not saved"), "\(saved.messages)")
            #expect(FileManager.default.fileExists(atPath: folder.path + "/elsewhere/x"))
        }
    }
}

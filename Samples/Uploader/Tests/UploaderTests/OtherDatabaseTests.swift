import Foundation
import Testing

@Suite("Databases of other apps", .timeLimit(.minutes(10)))
struct OtherDatabaseTests {
    private func uploader(_ arguments: [String], in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess([arguments[0], "--database", "app.sqlite"] + arguments.dropFirst(), in: folder).wait()
    }

    @Test("A database of another app is unchanged by push, resume and remove", arguments: ["push", "resume", "remove"])
    func untouched(command: String) throws {
        try withFolder(files: 1) { folder in
            let database = folder.appendingPathComponent("app.sqlite")
            try TestDatabase.execute("CREATE TABLE document (id INTEGER PRIMARY KEY, text TEXT)", in: database)
            let bytes = try Data(contentsOf: database)
            let run = try uploader(
                [command, "--to", "dir:remote"] + (command == "resume" ? [] : ["files"]), in: folder)
            #expect(run.status == 1)
            #expect(run.messages.contains("another program"), "\(run.messages)")
            #expect(run.messages.contains("--database"))
            #expect(try Data(contentsOf: database) == bytes)
            for name in ["app.sqlite-wal", "app.sqlite-shm", "app.sqlite.lfs", "remote"] {
                #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent(name).path), "\(name)")
            }
        }
    }

    /// Creates the database of an app that uses LFS, with two files on a storage, one of them without a name.
    private func makeApp(_ folder: URL) throws -> URL {
        let pushed = try UploaderProcess.run(
            "push", "--database", "app.sqlite", "--to", "dir:remote", "files", in: folder)
        try #require(pushed.status == 0, "\(pushed.messages)")
        let database = folder.appendingPathComponent("app.sqlite")
        for sql in [
            "DROP TABLE IF EXISTS document", "DROP TABLE IF EXISTS uploader_replaced",
            "DROP TABLE IF EXISTS uploader_document", "DROP TABLE IF EXISTS uploader_storage",
            "DELETE FROM grdb_migrations WHERE identifier LIKE 'uploader.%'",
            "INSERT INTO grdb_migrations VALUES ('recipes.v1')", "CREATE TABLE recipe (title TEXT)",
            "UPDATE lfs_file SET name = NULL WHERE id = (SELECT max(id) FROM lfs_file)",
        ] { try TestDatabase.execute(sql, in: database) }
        try TestDatabase.setJournalMode("delete", of: database)
        return database
    }

    @Test("Reading commands serve an app's database and keep its schema and journal mode")
    func served() throws {
        try withFolder(files: 2) { folder in
            let database = try makeApp(folder)
            let schema = try TestDatabase.schema(of: database)
            let ids = try TestDatabase.ids(in: database)
            for command in [
                ["status"], ["list"], ["list", "--json"], ["verify", "--to", "dir:remote", "--content"],
                ["pin", ids[0]], ["unpin", ids[0]], ["free", "--dry-run"], ["free"],
                ["pull", "--to", "dir:remote", "--all", "--output", "out"],
                ["pull", "--to", "dir:remote", "--output", "out", ids[0]],
            ] {
                let run = try uploader(command, in: folder)
                #expect(run.status == 0, "\(command): \(run.messages)")
                if command == ["list"] { #expect(ids.allSatisfy(run.output.contains), "\(run.output)") }
            }
            #expect(try TestDatabase.schema(of: database) == schema)
            #expect(try TestDatabase.journalMode(of: database) == "delete")
            let written = try FileManager.default.contentsOfDirectory(
                atPath: folder.appendingPathComponent("out").path)
            #expect(written.count == 2)
            #expect(written.contains(ids[1]))
            for command in [["push", "--to", "dir:remote", "files"], ["resume", "--to", "dir:remote"]] {
                #expect(try uploader(command, in: folder).status == 1)
            }
            #expect(try TestDatabase.schema(of: database) == schema)
        }
    }

    @Test(
        "Reading a database without LFS fails with a message that has no SQL",
        arguments: [
            ["status"], ["list"], ["free"], ["verify", "--to", "dir:files"],
            ["pull", "--to", "dir:files", "--all", "--output", "out"],
        ])
    func withoutLFS(command: [String]) throws {
        try withFolder(files: 1) { folder in
            let database = folder.appendingPathComponent("app.sqlite")
            try TestDatabase.execute("CREATE TABLE document (id INTEGER PRIMARY KEY, text TEXT)", in: database)
            let bytes = try Data(contentsOf: database)
            let run = try uploader(command, in: folder)
            #expect(run.status == 1)
            #expect(run.messages.contains("has no files of LFS"), "\(run.messages)")
            #expect(!run.messages.contains("SELECT"))
            #expect(try Data(contentsOf: database) == bytes)
        }
    }

    @Test("Two records with the same path are both listed and pulled")
    func samePath() throws {
        try withFolder(files: 2) { folder in
            let push = ["push", "--to", "dir:remote", "files"]
            #expect(try uploader(push, in: folder).status == 0)
            let database = folder.appendingPathComponent("app.sqlite")
            try TestDatabase.execute(
                "UPDATE uploader_document SET path = (SELECT min(path) FROM uploader_document), title = 'same'",
                in: database)
            #expect(try uploader(["list"], in: folder).output.split(separator: "\n").count == 2)
            let pulled = try uploader(["pull", "--to", "dir:remote", "--all", "--output", "out"], in: folder)
            #expect(pulled.status == 0, "\(pulled.messages)")
            let out = folder.appendingPathComponent("out/files").path
            #expect(try FileManager.default.contentsOfDirectory(atPath: out).count == 2)
            #expect(try uploader(push, in: folder).status == 0)
        }
    }

    @Test("Any command rolls back a transaction that a kill left unfinished")
    func halfDone() throws {
        for command in ["status", "list", "push", "resume"] {
            try withFolder(files: 2) { folder in
                let push = ["push", "--database", "a.sqlite", "--to", "dir:remote", "files"]
                #expect(try UploaderProcess(push, in: folder).wait().status == 0)
                let copy = folder.appendingPathComponent("b.sqlite")
                try TestDatabase.copyHalfDone(folder.appendingPathComponent("a.sqlite"), to: copy)
                try FileManager.default.moveItem(
                    at: folder.appendingPathComponent("a.sqlite.lfs"),
                    to: folder.appendingPathComponent("b.sqlite.lfs"))
                let storage = ["status", "list"].contains(command) ? [] : ["--to", "dir:remote"]
                let arguments = [command, "--database", "b.sqlite"] + storage + (command == "push" ? ["files"] : [])
                let result = try UploaderProcess(arguments, in: folder).wait()
                #expect(result.status == 0, "\(command): \(result.messages)")
                #expect(try !TestDatabase.hasTable("half", in: copy))
            }
        }
    }

    @Test("Only its owner can read the uploader's database and the files of SQLite")
    func mode() throws {
        try withFolder(files: 200) { folder in
            let names = ["app.sqlite", "app.sqlite-wal", "app.sqlite-shm"]
            func modes() -> [String: UInt32] {
                var modes: [String: UInt32] = [:]
                for name in names {
                    var status = stat()
                    if stat(folder.path + "/" + name, &status) == 0 { modes[name] = UInt32(status.st_mode) & 0o777 }
                }
                return modes
            }
            let isSeen = DispatchSemaphore(value: 0)
            let server = try AnsweringServer { request, _ in
                guard request.method == "PUT" else { return .failure(404, code: "NoSuchKey") }
                isSeen.wait()
                isSeen.signal()
                return .uploaded(request)
            }
            defer { server.close() }
            let run = try UploaderProcess(
                ["push", "--database", "app.sqlite", "--to", server.storage, "files"], in: folder,
                through: ["/bin/sh", "-c", "umask 0; exec \"$0\" \"$@\""], environment: server.environment)
            var seen: Set<String> = []
            while run.process.isRunning {
                let modes = modes()
                seen.formUnion(modes.keys)
                #expect(modes.values.allSatisfy { $0 == 0o600 }, "\(modes)")
                if seen == Set(names) { isSeen.signal() }
            }
            #expect(try run.wait().status == 0)
            #expect(seen == Set(names))
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o644], ofItemAtPath: folder.path + "/app.sqlite")
            #expect(try uploader(["pin", "files/0.bin"], in: folder).status == 0)
            #expect(modes()["app.sqlite"] == 0o600)
        }
    }
}

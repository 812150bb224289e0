import Foundation
import Testing

@Suite("A storage behind a signing server", .enabled(if: !S3Server.signing.isEmpty), .timeLimit(.minutes(10)))
struct SignedURLTests {
    private func to(_ server: S3Server) -> String { "signed+\(server.endpoint.absoluteString)" }

    @Test(
        "A signing server stores files, returns them and deletes removed ones", arguments: S3Server.signing
    )
    func wholeWay(_ server: S3Server) throws {
        let environment = ["LFS_TOKEN": server.secretKey]
        try withFolder(files: 20) { folder in
            try Data(count: 3 << 20).write(to: folder.appendingPathComponent("files/large"))
            func run(_ arguments: String...) throws -> UploaderProcess.Result {
                try UploaderProcess(
                    [arguments[0], "--to", to(server), "--database", "a.sqlite"] + arguments.dropFirst(), in: folder,
                    environment: environment
                ).wait()
            }
            let pushed = try run("push", "--json", "files")
            #expect(pushed.status == 0, "\(pushed.messages)")
            #expect(pushed.summary?["uploaded"] as? Int == 21)
            #expect(try run("verify").status == 0)
            #expect(try run("pull", "--all", "--output", "copy").status == 0)
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent("files").path)
            {
                let original = try Data(contentsOf: folder.appendingPathComponent("files/\(name)"))
                let copies = FileManager.default.enumerator(atPath: folder.appendingPathComponent("copy").path)
                let copy = try #require(copies?.first { ($0 as? NSString)?.lastPathComponent == name } as? String)
                #expect(try Data(contentsOf: folder.appendingPathComponent("copy/\(copy)")) == original)
            }
            let status = try UploaderProcess(["status", "--database", "a.sqlite"], in: folder).wait()
            #expect(status.output.hasSuffix("on \(to(server))\n"), "\(status.output)")
            let ids = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite")).map(\.id)
            let database = try Data(contentsOf: folder.appendingPathComponent("a.sqlite"))
            #expect(database.range(of: Data(server.secretKey.utf8)) == nil)
            #expect(database.range(of: Data("X-Amz-Signature".utf8)) == nil)
            let removed = try UploaderProcess(
                ["remove", "--to", to(server), "--database", "a.sqlite"] + ids, in: folder, environment: environment
            ).wait()
            #expect(removed.status == 0, "\(removed.messages)")
            #expect(try run("verify").status == 0)
        }
    }

    @Test("The token of another user gives no access to a user's files", arguments: S3Server.signing)
    func otherUser(_ server: S3Server) throws {
        try withFolder(files: 3) { folder in
            func run(_ token: String, database: String, arguments: String...) throws -> UploaderProcess.Result {
                try UploaderProcess(
                    [arguments[0], "--to", to(server), "--database", database, "--give-up-after", "15s"]
                        + arguments.dropFirst(), in: folder, environment: ["LFS_TOKEN": token]
                ).wait()
            }
            let (mine, other) = (server.secretKey, server.accessKey)
            // Without originals, a copy of the database has no file on this machine.
            #expect(try run(mine, database: "a.sqlite", arguments: "push", "--copy", "files").status == 0)
            let database = folder.appendingPathComponent("a.sqlite")
            let ids = try TestDatabase.entries(in: database).map(\.id)
            let more = folder.appendingPathComponent("more")
            try FileManager.default.createDirectory(at: more, withIntermediateDirectories: true)
            try randomData(100).write(to: more.appendingPathComponent("new"))
            for command in [["verify"], ["pull", "--all", "--output", "copy"], ["push", "more"], ["remove"] + ids] {
                let copy = folder.appendingPathComponent("\(command[0]).sqlite")
                try TestDatabase.copy(database, to: copy)
                let refused = try UploaderProcess(
                    [command[0], "--to", to(server), "--database", copy.path, "--give-up-after", "15s"]
                        + command.dropFirst(), in: folder, environment: ["LFS_TOKEN": other]
                ).wait()
                #expect(refused.status != 0, "\(command[0]): \(refused.output)")
            }
            let pulled = FileManager.default.enumerator(atPath: folder.appendingPathComponent("copy").path)
            #expect(pulled?.contains { ($0 as? String)?.hasSuffix(".bin") == true } != true)
            #expect(try run(mine, database: "a.sqlite", arguments: "verify").status == 0)
            #expect(try run(mine, database: "a.sqlite", arguments: "pull", "--all", "--output", "mine").status == 0)
        }
    }

    @Test("Two accounts of a signing server save and recover their databases", arguments: S3Server.signing)
    func savedDatabases(_ server: S3Server) throws {
        try withFolder(files: 2) { folder in
            for (name, token) in [("mine", server.secretKey), ("other", server.accessKey)] {
                func run(_ arguments: String...) throws -> UploaderProcess.Result {
                    try UploaderProcess(arguments, in: folder, environment: ["LFS_TOKEN": token]).wait()
                }
                let pushed = try run(
                    "push", "--to", to(server), "--database", "\(name).sqlite", "--save-database", "files")
                #expect(pushed.status == 0, "\(name): \(pushed.messages)")
                let recovered = try run(
                    "recover", "--unauthenticated", "--from", to(server), "--database", "\(name)-again.sqlite")
                #expect(recovered.status == 0, "\(name): \(recovered.messages)")
                let paths = { (database: String) in
                    Set(try TestDatabase.entries(in: folder.appendingPathComponent(database)).map(\.path))
                }
                #expect(try paths("\(name)-again.sqlite") == paths("\(name).sqlite"))
            }
        }
    }

    @Test("A killed upload to a signing server is resumed", arguments: S3Server.signing)
    func killed(_ server: S3Server) throws {
        try withFolder(files: 20) { folder in
            try randomData(64 << 20).write(to: folder.appendingPathComponent("files/large"))
            let options = ["--database", "a.sqlite", "--to", to(server), "--progress", "none"]
            let environment = ["LFS_TOKEN": server.secretKey]
            // The rate is low enough for the kill to come in time.
            let push = try UploaderProcess(
                ["push"] + options + ["--limit-rate", "4MiB", "files"], in: folder, environment: environment)
            let database = folder.appendingPathComponent("a.sqlite")
            func isUnderWay() throws -> Bool {
                guard try TestDatabase.hasTable("lfs_job", in: database) else { return false }
                return try TestDatabase.count("lfs_job WHERE checkpoint IS NOT NULL", in: database) > 0
            }
            while push.process.isRunning, try !isUnderWay() { usleep(1_000) }
            kill(push.process.processIdentifier, SIGKILL)
            let pushed = try push.wait()
            #expect(pushed.status == 128 + SIGKILL, "the kill came too late to show anything: \(pushed.messages)")
            for command in ["resume", "verify"] {
                let ended = try UploaderProcess([command] + options, in: folder, environment: environment).wait()
                #expect(ended.status == 0, "\(command): \(ended.messages)")
            }
            #expect(try TestDatabase.entries(in: database).allSatisfy { $0.status == "remote" })
            #expect(try TestDatabase.count("lfs_job", in: database) == 0)
        }
    }

    @Test("A missing or wrong token is reported before any file is uploaded", arguments: S3Server.signing)
    func token(_ server: S3Server) throws {
        try withFolder(files: 3) { folder in
            func push(_ environment: [String: String]) throws -> UploaderProcess.Result {
                try UploaderProcess(
                    ["push", "--database", "a.sqlite", "--to", to(server), "--give-up-after", "15s", "files"],
                    in: folder, environment: environment
                ).wait()
            }
            let without = try push([:])
            #expect(without.status == 1)
            #expect(without.messages.contains("LFS_TOKEN"), "\(without.messages)")
            let wrong = try push(["LFS_TOKEN": "canary"])
            #expect(wrong.status == 3)
            #expect(wrong.messages.contains("LFS_TOKEN"), "\(wrong.messages)")
            #expect(!wrong.messages.contains("canary"))
        }
    }

    @Test("A token in the URL of the storage is refused")
    func secretInURL() throws {
        try withFolder(files: 1) { folder in
            let pushed = try UploaderProcess(
                ["push", "--database", "a.sqlite", "--to", "signed+https://canary@host/lfs", "files"], in: folder
            ).wait()
            #expect(pushed.status == 64)
            #expect(pushed.messages.contains("LFS_TOKEN"))
        }
    }
}

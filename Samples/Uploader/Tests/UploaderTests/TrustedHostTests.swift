import Foundation
import Synchronization
import Testing
import UploaderKit

@Suite("Hosts that receive credentials", .timeLimit(.minutes(10)))
struct TrustedHostTests {
    /// Runs a signing server that counts the requests with a token.
    private func withServer(_ body: (URL, AnsweringServer, _ tokens: () -> Int) throws -> Void) throws {
        let tokens = Mutex(0)
        try withFolder(files: 1) { folder in
            let server = try AnsweringServer { request, _ in
                if request.headers["authorization"] != nil { tokens.withLock { $0 += 1 } }
                return AnsweringServer.Answer.failure(404, code: "Missing")
            }
            defer { server.close() }
            try body(folder, server, { tokens.withLock { $0 } })
        }
    }

    /// Creates a database whose storage is a folder, and changes it so that it names a server, as an attacker could.
    private func forge(_ folder: URL, server: AnsweringServer) throws {
        let push = try UploaderProcess.run("push", "--database", "a.sqlite", "--to", "dir:remote", "files", in: folder)
        #expect(push.status == 0, "\(push)")
        try TestDatabase.execute(
            """
            UPDATE uploader_storage SET location = 'signed://localhost/lfs',
                argument = 'signed+\(server.url.absoluteString)/lfs'
            """, in: folder.appendingPathComponent("a.sqlite"))
    }

    private func uploader(_ words: String..., in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess(
            [words[0], "--database", "a.sqlite"] + words.dropFirst(), in: folder,
            environment: ["LFS_TOKEN": "lfs_secret"]
        ).wait()
    }

    @Test("A token is not sent to a host that only a foreign database names")
    func foreignDatabase() throws {
        try withServer { folder, server, tokens in
            try forge(folder, server: server)
            for words in [["verify"], ["pull", "--all", "--output", "out"], ["resume"], ["remove", "files/0.bin"]] {
                let run = try UploaderProcess(
                    [words[0], "--database", "a.sqlite"] + words.dropFirst(), in: folder,
                    environment: ["LFS_TOKEN": "lfs_secret"]
                ).wait()
                #expect(run.status == 1, "\(run)")
                #expect(run.messages.contains("no command of this user has named localhost"), "\(run)")
            }
            #expect(tokens() == 0 && server.count == 0)
        }
    }

    @Test("The option --trust-storage permanently trusts the remembered storage's host")
    func trusted() throws {
        try withServer { folder, server, tokens in
            try forge(folder, server: server)
            #expect(!(try uploader("verify", "--trust-storage", in: folder).messages.contains("has named")))
            let first = tokens()
            #expect(first > 0)
            #expect(!(try uploader("verify", in: folder).messages.contains("has named")))
            #expect(tokens() > first)
            let list = folder.appendingPathComponent(".config/lfs/hosts")
            #expect(try String(contentsOf: list, encoding: .utf8) == "localhost\n")
            let mode = try FileManager.default.attributesOfItem(atPath: list.path)[.posixPermissions]
            #expect(mode as? Int == 0o600)
        }
    }

    @Test("A host that --to has named stays trusted without --to")
    func named() throws {
        try withServer { folder, server, tokens in
            try forge(folder, server: server)
            _ = try uploader("verify", "--to", "signed+\(server.url.absoluteString)/lfs", in: folder)
            let first = tokens()
            #expect(first > 0)
            #expect(!(try uploader("verify", in: folder).messages.contains("has named")))
            #expect(tokens() > first)
        }
    }

    /// Creates a database whose settings name a sync server, as a database from another person could.
    ///
    /// - Parameter forgets: removes the host from the list, because another user has named it.
    private func forgeAccount(_ folder: URL, key: String, server: AnsweringServer, forgets: Bool = true) throws {
        let push = try UploaderProcess.run("push", "--database", "a.sqlite", "--to", "dir:remote", "files", in: folder)
        #expect(push.status == 0, "\(push)")
        let set = try UploaderProcess.run(
            "settings", "set", "--database", "a.sqlite", key, server.url.absoluteString, in: folder)
        #expect(set.status == 0, "\(set)")
        guard forgets else { return }
        try? FileManager.default.removeItem(at: folder.appendingPathComponent(".config/lfs/hosts"))
    }

    private func sync(_ words: String..., in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess(
            ["sync", "--database", "a.sqlite"] + words, in: folder,
            environment: ["LFS_SYNC_TOKEN": "lfs_secret"]
        ).wait()
    }

    @Test(
        "A sync token is not sent to a host that only a foreign database names",
        arguments: ["account.serverURL", "account.endpoint"])
    func foreignAccount(key: String) throws {
        try withServer { folder, server, tokens in
            try forgeAccount(folder, key: key, server: server)
            let run = try sync("--give-up-after", "1s", in: folder)
            #expect(run.status == 1, "\(run)")
            #expect(run.messages.contains("no command of this user has named localhost"), "\(run)")
            #expect(run.messages.contains("Give --sync with the server"), "\(run)")
            #expect(tokens() == 0 && server.count == 0)
        }
    }

    @Test(
        "A sync server is trusted after --trust-storage, --sync or its setting",
        arguments: ["--trust-storage", "--sync", "set"])
    func trustedAccount(way: String) throws {
        try withServer { folder, server, tokens in
            try forgeAccount(folder, key: "account.serverURL", server: server, forgets: way != "set")
            let timeout = ["--give-up-after", "1s"]
            switch way {
            case "--sync": _ = try sync("--sync", server.url.absoluteString, timeout[0], timeout[1], in: folder)
            case "--trust-storage": _ = try sync("--trust-storage", timeout[0], timeout[1], in: folder)
            default: break
            }
            let list = folder.appendingPathComponent(".config/lfs/hosts")
            #expect(try String(contentsOf: list, encoding: .utf8) == "localhost\n")
            let first = tokens()
            let run = try sync(timeout[0], timeout[1], in: folder)
            #expect(!run.messages.contains("has named"), "\(run)")
            #expect(tokens() > first, "\(run)")
        }
    }

    @Test(
        "Tokens and passwords are not sent to another machine over http",
        arguments: ["signed+http://192.0.2.1/lfs", "webdav+http://192.0.2.1/dav"])
    func plainHTTP(storage: String) throws {
        try withFolder(files: 1) { folder in
            let environment = ["LFS_TOKEN": "a", "WEBDAV_USER": "b", "WEBDAV_PASSWORD": "c", "LFS_SYNC_TOKEN": "d"]
            let push = try UploaderProcess(
                ["push", "--database", "a.sqlite", "--to", storage, "files"], in: folder, environment: environment
            ).wait()
            let words = "With http, others on the way to 192.0.2.1"
            #expect(push.status == 1 && push.messages.contains(words), "\(push)")
            #expect(!FileManager.default.fileExists(atPath: folder.path + "/a.sqlite"))
            let sync = try UploaderProcess(
                ["sync", "--database", "a.sqlite", "--to", "dir:files", "--sync", "http://192.0.2.1"], in: folder,
                environment: environment
            ).wait()
            #expect(sync.status == 1 && sync.messages.contains(words), "\(sync)")
        }
    }

    @Test("The list of trusted hosts keeps manual entries and has no duplicates")
    func list() throws {
        try withFolder { folder in
            let hosts = TrustedHosts(environment: ["XDG_CONFIG_HOME": folder.path])
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent("lfs"), withIntermediateDirectories: true)
            try Data("# mine\nnas.example:8443".utf8).write(to: URL(fileURLWithPath: hosts.path))
            #expect(try hosts.contains("nas.example:8443") && !hosts.contains("nas.example"))
            for _ in 0..<2 { hosts.note("s3.example") }
            let text = try String(contentsOfFile: hosts.path, encoding: .utf8)
            #expect(text == "# mine\nnas.example:8443\ns3.example\n")
        }
    }

    @Test(
        "The trusted host is read from the argument of the storage",
        arguments: [
            ("dir:/mnt/backup", nil), ("s3://photos", nil), ("azure://account/photos", nil),
            ("gs://photos", "storage.googleapis.com"),
            ("s3://photos?endpoint=https://S3.example:9000", "s3.example:9000"),
            ("webdav+https://nas.example/dav", "nas.example"), ("signed+https://nas.example:443/lfs", "nas.example"),
            ("signed+http://127.0.0.1:1/lfs", "localhost"),
            // Customers of Amazon get such hosts, so a token must not go to all of them.
            ("signed+https://a1.execute-api.eu-west-1.amazonaws.com/x", "a1.execute-api.eu-west-1.amazonaws.com"),
        ] as [(String, String?)])
    func namedHost(storage: String, host: String?) throws {
        #expect(try StorageArgument(parsing: storage).namedHost == host)
    }
}

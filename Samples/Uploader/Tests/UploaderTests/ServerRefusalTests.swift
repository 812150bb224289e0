import Foundation
import Testing

@Suite("Refused requests", .timeLimit(.minutes(10)))
struct ServerRefusalTests {
    private func push(
        _ server: AnsweringServer, words: String..., in folder: URL, environment: [String: String] = [:]
    ) throws -> UploaderProcess.Result {
        try UploaderProcess(
            ["push", "--database", "a.sqlite", "--to", server.storage] + words + ["files"], in: folder,
            environment: server.environment.merging(environment) { $1 }
        ).wait()
    }

    @Test("Denied deletions are reported once, and --keep-removed-objects accepts them")
    func appendOnly() throws {
        try withFolder { folder in
            let server = try AnsweringServer { request, _ in
                request.method == "PUT" ? .uploaded(request) : .failure(403, code: "AccessDenied")
            }
            defer { server.close() }
            let file = folder.appendingPathComponent("files/a")
            try Data("1".utf8).write(to: file)
            #expect(try push(server, in: folder).status == 0)
            try Data("22".utf8).write(to: file)
            let second = try push(server, words: "--give-up-after", "15s", in: folder)
            #expect(second.status == 3, "\(second)")
            #expect(second.messages.contains("AccessDenied"), "\(second)")
            #expect(second.messages.contains("--keep-removed-objects"), "\(second)")
            for _ in 0..<2 {
                let kept = try push(server, words: "--keep-removed-objects", in: folder)
                #expect(kept.status == 0, "\(kept)")
                #expect(kept.messages.components(separatedBy: "AccessDenied").count == 2, "\(kept)")
            }
        }
    }

    @Test("A proxy that requires a password ends the run and is reported", arguments: ["http", "https"])
    func proxyPassword(scheme: String) throws {
        try withFolder(files: 1) { folder in
            let proxy = try AnsweringServer { _, _ in
                AnsweringServer.Answer(status: 407, headers: ["proxy-authenticate": "Basic realm=\"p\""])
            }
            defer { proxy.close() }
            let run = try UploaderProcess(
                [
                    "push", "--database", "a.sqlite", "--to",
                    "s3://photos?endpoint=\(scheme)://s3.example&addressing=path&region=x", "files",
                ], in: folder,
                environment: proxy.environment.merging(["\(scheme)_proxy": proxy.url.absoluteString]) { $1 }
            ).wait()
            #expect(run.status == 3, "\(run)")
            #expect(run.messages.contains("The proxy asks for a name and a password"), "\(run)")
        }
    }

    @Test("A redirect of the sync server is reported with its target")
    func syncRedirect() throws {
        try withFolder(files: 1) { folder in
            let server = try AnsweringServer { _, _ in
                AnsweringServer.Answer(status: 301, headers: ["location": "https://sync.example/v1/sync"])
            }
            defer { server.close() }
            let run = try sync(server, in: folder)
            #expect(run.messages.contains("redirects to https://sync.example/v1/sync"), "\(run)")
        }
    }

    @Test("A server without sync is reported as such", arguments: [404, 501])
    func noSyncServer(status: Int) throws {
        try withFolder(files: 1) { folder in
            let server = try AnsweringServer { _, _ in AnsweringServer.Answer(status: status) }
            defer { server.close() }
            let run = try sync(server, in: folder)
            #expect(run.messages.contains("There is no sync server at this URL"), "\(run)")
            #expect(!run.messages.contains("cannot answer now"), "\(run)")
        }
    }

    @Test("The status names what the sync server lacks for waiting changes")
    func lacking() throws {
        try withFolder(files: 1) { folder in
            let server = try AnsweringServer { _, _ in
                AnsweringServer.Answer(status: 301, headers: ["location": "https://sync.example/v1/sync"])
            }
            defer { server.close() }
            let push = try UploaderProcess(
                [
                    "push", "--database", "a.sqlite", "--to", "dir:remote", "--sync", server.url.absoluteString,
                    "files",
                ], in: folder, environment: ["LFS_SYNC_TOKEN": "canary"]
            ).wait()
            #expect(push.status == 3, "\(push)")
            // A server of an older version has answered so.
            try TestDatabase.execute(
                "UPDATE lfs_sync_outbox SET waits = 'uploader_document.title'",
                in: folder.appendingPathComponent("a.sqlite"))
            let status = try UploaderProcess.run("status", "--database", "a.sqlite", in: folder)
            #expect(status.output.contains("lacks the column 'title' of the table 'uploader_document'"), "\(status)")
            let json = try UploaderProcess.run("status", "--database", "a.sqlite", "--json", in: folder)
            let sync = json.events.first?["sync"] as? [String: Any]
            #expect(sync?["lacking"] as? [String] == ["uploader_document.title"], "\(json)")
        }
    }

    private func sync(_ server: AnsweringServer, in folder: URL) throws -> UploaderProcess.Result {
        try UploaderProcess(
            [
                "sync", "--database", "a.sqlite", "--to", "dir:files", "--sync", server.url.absoluteString,
                "--give-up-after", "15s",
            ], in: folder, environment: ["LFS_SYNC_TOKEN": "token"]
        ).wait()
    }
}

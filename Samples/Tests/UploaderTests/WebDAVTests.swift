import Foundation
import Testing

@Suite("A folder on a WebDAV server", .enabled(if: !S3Server.webDAV.isEmpty), .timeLimit(.minutes(5)))
struct WebDAVTests {
    @Test(
        "takes files, gives them back on another machine, and loses those that are removed", arguments: S3Server.webDAV)
    func wholeWay(_ server: S3Server) throws {
        let environment = ["WEBDAV_USER": server.accessKey, "WEBDAV_PASSWORD": server.secretKey]
        try withFolder(files: 20) { folder in
            try Data(count: 3 << 20).write(to: folder.appendingPathComponent("files/large"))
            func run(_ arguments: String...) throws -> UploaderProcess.Result {
                let to = ["--to", "webdav+\(server.endpoint.absoluteString)?read-back=true", "--database", "a.sqlite"]
                return try UploaderProcess(
                    [arguments[0]] + to + arguments.dropFirst(), in: folder, environment: environment
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
            let ids = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite")).map(\.id)
            let removed = try UploaderProcess(
                ["remove", "--to", "webdav+\(server.endpoint.absoluteString)?read-back=true", "--database", "a.sqlite"]
                    + ids, in: folder, environment: environment
            ).wait()
            #expect(removed.status == 0, "\(removed.messages)")
            let data = try #require(server.data)
            let left = FileManager.default.enumerator(atPath: data)?.compactMap { $0 as? String }
                .filter { ids.contains(URL(fileURLWithPath: $0).lastPathComponent) }
            #expect(left == [])
        }
    }

    @Test("without its password is told once, before any file", arguments: S3Server.webDAV)
    func wrongPassword(_ server: S3Server) throws {
        try withFolder(files: 3) { folder in
            let pushed = try UploaderProcess(
                [
                    "push", "--database", "a.sqlite", "--to", "webdav+\(server.endpoint.absoluteString)",
                    "--give-up-after", "1s", "files",
                ], in: folder, environment: ["WEBDAV_USER": server.accessKey, "WEBDAV_PASSWORD": "canary"]
            ).wait()
            #expect(pushed.status == 3)
            #expect(pushed.messages.contains("401"))
            #expect(!pushed.messages.contains("canary"))
        }
    }
}

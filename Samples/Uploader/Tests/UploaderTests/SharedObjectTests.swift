import Foundation
import Testing

/// Row 39 of the settings' tests, with the object storage of real servers.
@Suite("Equal files on a server", .enabled(if: !S3Server.all.isEmpty), .timeLimit(.minutes(10)))
struct SharedObjectTests {
    @Test("Equal files share one object on a server until the last one is removed", arguments: S3Server.all)
    func once(_ server: S3Server) throws {
        let bucket = "lfs-shared-\(UInt32.random(in: 0...UInt32.max))"
        try server.curl("PUT", path: "/\(bucket)")
        try withFolder(files: 1) { folder in
            let files = folder.appendingPathComponent("files")
            let first = files.appendingPathComponent("0.bin")
            try FileManager.default.copyItem(at: first, to: files.appendingPathComponent("copy"))
            let size = try #require(try FileManager.default.attributesOfItem(atPath: first.path)[.size] as? Int)
            try randomData(size).write(to: files.appendingPathComponent("other"))
            func uploader(_ command: String, arguments: String...) throws -> UploaderProcess.Result {
                try UploaderProcess(
                    [command, "--database", "a.sqlite", "--to", server.storage(bucket, prefix: "shared"), "--json"]
                        + arguments,
                    in: folder, environment: server.environment
                ).wait()
            }
            func objects() throws -> Int {
                let list = String(decoding: try server.curl("GET", path: "/\(bucket)?prefix=shared%2F"), as: UTF8.self)
                return list.components(separatedBy: "<Key>").count - 1
            }
            let push = try uploader("push", arguments: "--no-save-database", "files")
            #expect(push.status == 0, "\(push.messages)")
            #expect(push.summary?["attached"] as? Int == 3 && push.summary?["uploaded"] as? Int == 2)
            #expect(try objects() == 2)
            #expect(try uploader("remove", arguments: first.path).status == 0)
            #expect(try objects() == 2)
            #expect(try UploaderProcess.run("free", "--database", "a.sqlite", in: folder).status == 0)
            let pull = try uploader("pull", arguments: "--all", "--output", "out")
            #expect(pull.status == 0, "\(pull.messages)")
            #expect(try system("cmp", first.path, folder.path + "/out/files/copy"))
            #expect(try uploader("remove", arguments: files.path + "/copy").status == 0)
            #expect(try objects() == 1)
            #expect(try uploader("remove", arguments: files.path + "/other").status == 0)
            #expect(try objects() == 0)
        }
        try server.curl("DELETE", path: "/\(bucket)")
    }
}

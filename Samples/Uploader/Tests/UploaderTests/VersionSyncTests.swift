import Foundation
import Testing

@Suite("Old versions of several devices", .enabled(if: SyncServerProcess.path != nil), .timeLimit(.minutes(10)))
struct VersionSyncTests {
    @Test("Old versions belong to the device that made them")
    func devices() throws {
        try withVersionedFiles { files in
            let server = try SyncServerProcess(in: files.folder)
            let tokens = [try server.addSession(), try server.addSession()]
            func run(_ device: Int, command: String, words: String...) throws -> UploaderProcess.Result {
                let options = ["--database", "\(device).sqlite", "--to", "dir:remote", "--sync", server.url]
                let result = try UploaderProcess(
                    [command] + options + words, in: files.folder, environment: ["LFS_SYNC_TOKEN": tokens[device]]
                ).wait()
                #expect(result.status == 0, "\(device) \(command): \(result.messages)")
                return result
            }
            func versions(_ device: Int) throws -> [[String: Any]] {
                let words = ["list", "--database", "\(device).sqlite", "--versions", "--json"]
                return try UploaderProcess(words, in: files.folder).wait().events
            }
            for text in ["one", "two"] {
                try files.write(text)
                _ = try run(0, command: "push", words: "--keep-versions", "forever", "files")
            }
            _ = try run(1, command: "sync")
            #expect(try versions(0).count == 2 && versions(1).count == 1)
            let id = try #require(try versions(0).last?["id"] as? String)
            // The other device has its own setting.
            try files.write("of the second", to: "b")
            _ = try run(1, command: "push", words: "--keep-versions", "none", "files/b")
            _ = try run(0, command: "sync")
            _ = try run(0, command: "pull", words: id, "--output", "out")
            #expect(files.read("out/files/a") == "one")
            #expect(files.objects() == 3)
            // The device that removes the file removes its versions on all devices.
            _ = try run(
                1, command: "remove",
                words: try #require(versions(1).first { $0["bytes"] as? Int == 3 }?["id"] as? String))
            let synced = try run(0, command: "sync", words: "--json")
            #expect(synced.summary?["versions"] as? Int == 1)
            _ = try run(1, command: "sync")
            #expect(files.objects() == 1)
            #expect(try server.stop() == 0)
        }
    }
}

import Foundation
import Testing

@Suite("Verification", .timeLimit(.minutes(10)))
struct VerifyTests {
    private func uploader(
        _ command: String, arguments: [String] = [], in folder: URL
    ) throws -> UploaderProcess.Result {
        try UploaderProcess(
            [command, "--database", "a.sqlite", "--to", "dir:remote", "--json"] + arguments, in: folder
        ).wait()
    }

    private func findings(_ result: UploaderProcess.Result) -> [String: [String: Any]] {
        let found = result.events.filter { $0["event"] as? String == "finding" }
        return Dictionary(found.map { ($0["kind"] as? String ?? "", $0) }) { first, _ in first }
    }

    @Test("Verification exits with 5 after findings, and with 0 once they are repaired")
    func repair() throws {
        try withFolder(files: 6) { folder in
            #expect(try uploader("push", arguments: ["--copy", "files"], in: folder).status == 0)
            let clean = try uploader("verify", arguments: ["--content"], in: folder)
            #expect(clean.status == 0)
            #expect(clean.summary?["files"] as? Int == 6)
            #expect(clean.summary?["objects"] as? Int == 6)
            #expect(clean.summary?["bytesRead"] as? Int == 6 * 10_240)

            let entries = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite"))
            let local = folder.appendingPathComponent("a.sqlite.lfs/\(entries[0].id)")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: local.path)
            try randomData(10_240).write(to: local)
            let object = folder.appendingPathComponent("remote/\(entries[1].key)")
            try FileManager.default.removeItem(at: object)

            #expect(try uploader("verify", in: folder).status == 5)
            let found = try uploader("verify", arguments: ["--content"], in: folder)
            #expect(found.status == 5)
            #expect(Set(findings(found).keys) == ["corruptedLocally", "missingRemotely"])
            #expect(findings(found)["corruptedLocally"]?["repair"] as? String == "fetch")
            #expect(findings(found)["missingRemotely"]?["path"] as? String == entries[1].path)
            #expect(!FileManager.default.fileExists(atPath: object.path))

            let repaired = try uploader("verify", arguments: ["--content", "--repair"], in: folder)
            #expect(repaired.status == 0)
            #expect(repaired.summary?["repaired"] as? Int == 2)
            #expect(FileManager.default.fileExists(atPath: object.path))
            let last = try uploader("verify", arguments: ["--content"], in: folder)
            #expect(last.status == 0)
            #expect(findings(last).isEmpty)
        }
    }

    @Test("Damage on the storage is found by --read-data and repaired from the local copy")
    func readData() throws {
        try withFolder(files: 2) { folder in
            #expect(try uploader("push", arguments: ["--copy", "files"], in: folder).status == 0)
            let entry = try #require(TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite")).first)
            let object = folder.appendingPathComponent("remote/\(entry.key)")
            let right = try Data(contentsOf: object)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: object.path)
            try randomData(right.count).write(to: object)
            #expect(try uploader("verify", arguments: ["--content"], in: folder).status == 0)
            let found = try uploader("verify", arguments: ["--read-data"], in: folder)
            #expect(found.status == 5)
            #expect(Set(findings(found).keys) == ["corruptedRemotely"])
            let free = ["free", "--database", "a.sqlite", "--keep-bytes", "0"]
            _ = try UploaderProcess(free, in: folder).wait()
            let local = folder.appendingPathComponent("a.sqlite.lfs/\(entry.id)")
            #expect(FileManager.default.fileExists(atPath: local.path))
            #expect(try uploader("verify", arguments: ["--repair"], in: folder).status == 0)
            #expect(try Data(contentsOf: object) == right)
            #expect(try uploader("verify", arguments: ["--read-data"], in: folder).status == 0)
            #expect(try uploader("verify", arguments: ["--read-data", "--local-only"], in: folder).status == 64)
        }
    }

    @Test("A lost file exits with 5 once, and is reported as known afterwards")
    func loss() throws {
        try withFolder(files: 2) { folder in
            #expect(try uploader("push", arguments: ["--copy", "files"], in: folder).status == 0)
            let entry = try #require(TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite")).first)
            try FileManager.default.removeItem(at: folder.appendingPathComponent("a.sqlite.lfs/\(entry.id)"))
            try FileManager.default.removeItem(at: folder.appendingPathComponent("remote/\(entry.key)"))
            // A repair would use the original.
            try FileManager.default.removeItem(at: URL(fileURLWithPath: entry.path))
            let first = try uploader("verify", arguments: ["--repair"], in: folder)
            #expect(first.status == 5)
            #expect(first.summary?["lostBytes"] as? Int == 10_240)
            let second = try uploader("verify", arguments: ["--repair"], in: folder)
            #expect(second.status == 0)
            #expect(findings(second)["missingRemotely"]?["isKnown"] as? Bool == true)
            #expect(try uploader("remove", arguments: [entry.id], in: folder).status == 0)
            let third = try uploader("verify", in: folder)
            #expect(third.status == 0)
            #expect(findings(third).isEmpty)
        }
    }

    @Test("An empty storage is refused instead of reported as a loss")
    func emptyStorage() throws {
        try withFolder(files: 2) { folder in
            #expect(try uploader("push", arguments: ["--copy", "files"], in: folder).status == 0)
            let (remote, aside) = (folder.appendingPathComponent("remote"), folder.appendingPathComponent("aside"))
            try FileManager.default.moveItem(at: remote, to: aside)
            try FileManager.default.createDirectory(at: remote, withIntermediateDirectories: false)
            let result = try uploader("verify", arguments: ["--repair"], in: folder)
            #expect(result.status == 1)
            #expect(result.messages.contains("Check the bucket"))
            #expect(result.messages.contains("confirm that with --accept-empty"))
            let error = result.events.first { $0["event"] as? String == "error" }
            #expect((error?["reason"] as? String)?.contains("--accept-empty") == true)
            #expect(try TestDatabase.count("lfs_job", in: folder.appendingPathComponent("a.sqlite")) == 0)
            let forced = try uploader("verify", arguments: ["--repair", "--accept-empty"], in: folder)
            #expect(forced.status == 0)
            #expect(forced.summary?["repaired"] as? Int == 2)
        }
    }

    @Test("A copy of the database deletes newer objects only with --remove-unknown")
    func copyOfDatabase() throws {
        try withFolder(files: 2) { folder in
            #expect(try uploader("push", arguments: ["--copy", "files"], in: folder).status == 0)
            let copy = folder.appendingPathComponent("copy.sqlite")
            try FileManager.default.copyItem(at: folder.appendingPathComponent("a.sqlite"), to: copy)
            try randomData(10_240).write(to: folder.appendingPathComponent("files/new"))
            #expect(try uploader("push", arguments: ["--copy", "files"], in: folder).status == 0)
            func verify(_ arguments: String...) throws -> UploaderProcess.Result {
                try UploaderProcess(
                    ["verify", "--database", "copy.sqlite", "--to", "dir:remote", "--orphan-age", "0"] + arguments,
                    in: folder
                ).wait()
            }
            let left = try verify("--repair", "--json")
            #expect(left.status == 5, "\(left.messages)")
            #expect(Set(findings(left).keys) == ["orphanedRemotely"])
            #expect(findings(left)["orphanedRemotely"]?["repair"] == nil)
            #expect(try verify().output.contains("With --remove-unknown it deletes it for good."))
            #expect(try uploader("verify", in: folder).status == 0)

            #expect(try verify("--remove-unknown").status == 64)
            #expect(try verify("--repair", "--remove-unknown").status == 0)
            #expect(findings(try uploader("verify", in: folder)).keys.contains("missingRemotely"))
        }
    }

    @Test("Verification prints a line with advice for each finding, and a summary")
    func text() throws {
        try withFolder(files: 3) { folder in
            #expect(try uploader("push", arguments: ["--copy", "files"], in: folder).status == 0)
            let entry = try #require(TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite")).first)
            try FileManager.default.removeItem(at: folder.appendingPathComponent("remote/\(entry.key)"))
            let result = try UploaderProcess.run(
                "verify", "--database", "a.sqlite", "--to", "dir:remote", in: folder)
            #expect(result.status == 5)
            let lines = result.output.split(separator: "\n")
            #expect(lines.count == 2)
            #expect(lines.first?.hasPrefix("missingRemotely \(entry.id) \(entry.path): ") == true)
            #expect(lines.first?.hasSuffix("--repair uploads it.") == true)
            #expect(lines.last?.hasPrefix("3 files, 3 local copies, 2 objects, 1 finding, 1 left, in ") == true)
        }
    }
}

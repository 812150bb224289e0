import Foundation
import Testing

/// The Azure emulator that `Tests/Servers/with` has started.
struct AzureServer: Codable, Sendable, CustomTestStringConvertible {
    var name: String
    var endpoint: URL
    var account: String
    var accountKey: String

    var testDescription: String { name }

    /// All running emulators. The list is empty if the tests run without `Tests/Servers/with`.
    static let all: [AzureServer] = {
        guard let text = ProcessInfo.processInfo.environment["LFS_AZURE_SERVERS"] else { return [] }
        do {
            return try JSONDecoder().decode([AzureServer].self, from: Data(text.utf8))
        } catch {
            fatalError("LFS_AZURE_SERVERS cannot be read: \(error)")
        }
    }()

    var environment: [String: String] { ["AZURE_STORAGE_ACCOUNT": account, "AZURE_STORAGE_KEY": accountKey] }

    /// Creates a container and returns its name.
    func makeContainer() throws -> String {
        let name = "u\(UInt32.random(in: 0...UInt32.max))"
        _ = try control("--data", "{\"make\": \"\(name)\"}", "/.control")
        return name
    }

    /// Returns the number of requests of a kind, such as `["PUT", "block", 201]`.
    func count(_ kind: String, container: String) throws -> Int {
        String(decoding: try control("/.control?\(container)"), as: UTF8.self).components(separatedBy: kind).count - 1
    }

    private func control(_ arguments: String...) throws -> Data {
        let output = FileManager.default.temporaryDirectory.appendingPathComponent("curl-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: output) }
        let url = endpoint.deletingLastPathComponent().absoluteString + arguments[arguments.count - 1].dropFirst()
        let worked = try system(
            ["curl", "--silent", "--show-error", "--fail", "--output", output.path] + arguments.dropLast() + [url])
        try #require(worked)
        return try Data(contentsOf: output)
    }

    func storage(_ container: String, prefix: String = "below") -> String {
        "azure://\(account)/\(container)/\(prefix)?endpoint=\(endpoint.absoluteString)"
    }
}

@Suite("Azure containers", .enabled(if: !AzureServer.all.isEmpty), .serialized, .timeLimit(.minutes(10)))
struct AzureTests {
    @Test("An Azure container stores files, restores them and deletes removed ones", arguments: AzureServer.all)
    func wholeWay(_ server: AzureServer) throws {
        let container = try server.makeContainer()
        try withFolder(files: 20) { folder in
            try Data(count: 12 << 20).write(to: folder.appendingPathComponent("files/large"))
            func run(_ arguments: String...) throws -> UploaderProcess.Result {
                let to = ["--to", server.storage(container), "--database", "a.sqlite"]
                return try UploaderProcess(
                    [arguments[0]] + to + arguments.dropFirst(), in: folder, environment: server.environment
                ).wait()
            }
            let pushed = try run("push", "--json", "--part-size", "5MiB", "files")
            #expect(pushed.status == 0, "\(pushed.messages)")
            #expect(pushed.summary?["uploaded"] as? Int == 21)
            #expect(try server.count("[\"PUT\", \"blocklist\", 201]", container: container) == 1)
            #expect(try run("verify").status == 0)
            #expect(try run("pull", "--all", "--output", "copy").status == 0)
            #expect(try system("cmp", "\(folder.path)/files/large", try find("large", below: folder)))
            let status = try UploaderProcess(["status", "--database", "a.sqlite"], in: folder).wait()
            #expect(status.output.hasSuffix("on \(server.storage(container))\n"), "\(status.output)")
            let ids = try TestDatabase.entries(in: folder.appendingPathComponent("a.sqlite")).map(\.id)
            let removed = try UploaderProcess(
                ["remove", "--to", server.storage(container), "--database", "a.sqlite"] + ids, in: folder,
                environment: server.environment
            ).wait()
            #expect(removed.status == 0, "\(removed.messages)")
            #expect(try server.count("[\"DELETE\", null, 202]", container: container) == 21)
            // Neither the database nor any file next to it contains the key.
            for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
                let file = folder.appendingPathComponent(name)
                guard let data = FileManager.default.contents(atPath: file.path) else { continue }
                #expect(data.firstRange(of: Data(server.accountKey.utf8)) == nil, "\(name)")
            }
        }
    }

    private func find(_ name: String, below folder: URL) throws -> String {
        let copies = try FileManager.default.subpathsOfDirectory(atPath: folder.appendingPathComponent("copy").path)
        let path = try #require(copies.first { $0 == name || $0.hasSuffix("/" + name) })
        return folder.appendingPathComponent("copy/\(path)").path
    }

    @Test(
        "Resuming a killed upload to Azure sends only the missing blocks", arguments: AzureServer.all,
        [2, 6])
    func kill(_ server: AzureServer, blocks: Int) throws {
        let container = try server.makeContainer()
        try withFolder { folder in
            let file = folder.appendingPathComponent("files/large.bin")
            try randomData(60 << 20).write(to: file)
            let options = [
                "--database", "a.sqlite", "--to", server.storage(container), "--part-size", "5MiB", "--progress",
                "none",
            ]
            let kind = "[\"PUT\", \"block\", 201]"
            // Six blocks are sent at a time and end together. The second six end five seconds after the first.
            let push = try UploaderProcess(
                ["push"] + options + ["--limit-rate", "6MiB", "files"], in: folder, environment: server.environment)
            while push.process.isRunning, try server.count(kind, container: container) < blocks { usleep(5_000) }
            Foundation.kill(push.process.processIdentifier, SIGKILL)
            #expect(try push.wait().status == 128 + SIGKILL)
            let sent = try server.count(kind, container: container)
            #expect(sent < 12)
            let resumed = try UploaderProcess(["resume"] + options, in: folder, environment: server.environment).wait()
            #expect(resumed.status == 0, "\(resumed.messages)")
            #expect(
                try server.count(kind, container: container) <= 12 + 6, "what was under way goes out again, and no more"
            )
            let pulled = try UploaderProcess(
                ["pull", "--database", "a.sqlite", "--to", server.storage(container), "--all", "--output", "copy"],
                in: folder, environment: server.environment
            ).wait()
            #expect(pulled.status == 0, "\(pulled.messages)")
            #expect(try system("cmp", file.path, find("large.bin", below: folder)))
        }
    }

    @Test("A wrong or missing Azure key is reported before any file is uploaded", arguments: AzureServer.all)
    func wrongKey(_ server: AzureServer) throws {
        let container = try server.makeContainer()
        let wrong = Data("canary".utf8).base64EncodedString()
        for (environment, status, word) in [
            (["AZURE_STORAGE_KEY": wrong], Int32(3), "403"), ([:], 1, "AZURE_STORAGE_KEY"),
            (["AZURE_STORAGE_KEY": wrong, "AZURE_STORAGE_ACCOUNT": "other"], 1, "other"),
        ] {
            try withFolder(files: 3) { folder in
                let pushed = try UploaderProcess(
                    [
                        "push", "--database", "a.sqlite", "--to", server.storage(container), "--give-up-after", "15s",
                        "files",
                    ], in: folder, environment: environment
                ).wait()
                #expect(pushed.status == status, "\(pushed.messages)")
                #expect(pushed.messages.contains(word), "\(pushed.messages)")
                #expect(!pushed.messages.contains(wrong))
            }
        }
    }
}
